import { baseUrlOf, pathSegment, type AddressedRequest, type FileUrl } from '@svc/surface'
import type { Surface } from '../surface.ts'

const FORM = /^file_([^_]+)_(.+)$/

/** Makes the URLs of files of runs, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(surface: Pick<Surface, 'url' | 'prefix'>, request: AddressedRequest): FileUrl {
  const base = baseUrlOf(surface, request)
  return ({ fileId, url: given }, runId) =>
    fileId === undefined ? given : `${base}/files/${pathSegment(toFileId(runId, fileId))}/content`
}

/** The id of a file of a run: both ids in one, since the routes of files have one. */
export function toFileId(runId: string, fileId: string): string {
  return `file_${runId}_${fileId}`
}

/** Reads the id of a file. */
export function readFileId(id: string): { runId: string; fileId: string } | undefined {
  const [, runId, fileId] = FORM.exec(id) ?? []
  return runId === undefined ? undefined : { runId, fileId: fileId! }
}
