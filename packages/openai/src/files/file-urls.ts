import { pathSegment } from '@svc/registry/kit'
import type { FileUrl } from '@svc/registry/wire-kit'
import type { FastifyRequest } from 'fastify'
import type { Surface } from '../surface.ts'

const FORM = /^file_([^_]+)_(.+)$/

/** Makes the URLs of files of runs, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(
  { url, prefix }: Pick<Surface, 'url' | 'prefix'>,
  { protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>
): FileUrl {
  const base = url ?? `${protocol}://${host}${prefix}`
  return ({ fileId, url: given }, runId) =>
    fileId === undefined ? given : `${base}/files/${pathSegment(`file_${runId}_${fileId}`)}/content`
}

/** Reads the id of a file. */
export function readFileId(id: string): { runId: string; fileId: string } | undefined {
  const [, runId, fileId] = FORM.exec(id) ?? []
  return runId === undefined ? undefined : { runId, fileId: fileId! }
}
