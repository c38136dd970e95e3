import type { RunFile } from '@svc/contract'

/** The URL of a file of a run; undefined if its content is not kept. */
export type FileUrl = (file: RunFile, runId: string) => string | undefined

/** Where a surface serves files. */
export interface FilePlace {
  /** The URL of the surface. */
  readonly base: string
  /** The names of the path below which `<runId>/<fileId>` is a file. */
  readonly path: readonly string[]
  /** The user that a caller without credentials names. */
  readonly userId?: string | undefined
}

/** A name as a segment of a path. Halves of surrogate pairs, which no URL can have, become U+FFFD. */
export function pathSegment(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}

/** Makes the URLs of files: at a surface for those of the file store, elsewhere for others. */
export function fileUrlsAt({ base, path, userId }: FilePlace): FileUrl {
  const place = `${base}/${path.map(pathSegment).join('/')}`
  const query = userId === undefined ? '' : `?userId=${pathSegment(userId)}`
  return ({ fileId, url }, runId) =>
    fileId === undefined ? url : `${place}/${pathSegment(runId)}/${pathSegment(fileId)}${query}`
}
