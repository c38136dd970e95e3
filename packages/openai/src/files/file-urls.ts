import { baseUrlOf, pathSegment, toFileId, type AddressedRequest, type FileUrl } from '@svc/surface'
import type { Surface } from '../surface.ts'

/** Makes the URLs of files of runs, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(surface: Pick<Surface, 'url' | 'prefix'>, request: AddressedRequest): FileUrl {
  const base = baseUrlOf(surface, request)
  return ({ fileId, url: given }, runId) =>
    fileId === undefined ? given : `${base}/files/${pathSegment(toFileId(runId, fileId))}/content`
}
