import type { ContentPart, RunFile } from '@svc/contract'

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

/** A file as wires have it: its URL, which may be a `data:` URL with its bytes. */
export interface LinkedFile {
  readonly url: string
  /** Default: that of a `data:` URL, else `application/octet-stream`. */
  readonly mimeType?: string | undefined
  readonly filename?: string | undefined
}

const DATA_URL = /^data:([^,]*?)(;base64)?,/i
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * The content part for a file of a client. The bytes of a `data:` URL become base64, whose form is checked with the input.
 * @see https://www.rfc-editor.org/rfc/rfc2397
 */
export function contentOfFile({ url, mimeType, filename }: LinkedFile): ContentPart {
  const [head, type = '', base64] = DATA_URL.exec(url) ?? []
  const given = mimeType || type || UNKNOWN_TYPE
  const about = { mimeType: given, ...(filename !== undefined && { filename }) }
  const family = /^(image|audio)\//.exec(given)?.[1] as 'image' | 'audio' | undefined
  const kind = { type: family ?? ('file' as const), ...about }
  if (head === undefined) return { ...kind, url }
  const data = url.slice(head.length)
  return { ...kind, data: base64 === undefined ? toBase64(data) : data }
}

// A malformed escape stays as it is.
function toBase64(escaped: string): string {
  let text = escaped
  try {
    text = decodeURIComponent(escaped)
  } catch {}
  return Buffer.from(text).toString('base64')
}
