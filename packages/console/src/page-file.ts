import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** A file of the page, in every encoding in which it is sent. */
export interface PageFile {
  /** Below the prefix, without a leading slash; the document is `index.html`. */
  readonly path: string
  readonly body: Buffer
  /** Absent if they are no smaller. */
  readonly encoded: { readonly br?: Buffer; readonly gzip?: Buffer }
}

/** The endings of compressed files, by their encodings. */
export const ENCODINGS = { br: '.br', gzip: '.gz' } as const
export type Encoding = keyof typeof ENCODINGS

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8'
}

/** The media type of a file, by the ending of its name. */
export function typeOf(path: string): string {
  const type = TYPES[path.slice(path.lastIndexOf('.') + 1)]
  if (type === undefined) throw new Error(`no media type is known for ${path}`)
  return type
}

/** True if the name of a file has the hash of its content, so that it can be kept without asking. */
export const isImmutable = (path: string): boolean => /-[0-9A-Z]{8}\.\w+$/.test(path)

/** The entity tag of a file, one for each encoding: RFC 9110, section 8.8.3. */
export function etagOf(body: Buffer, encoding?: Encoding): string {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  return encoding === undefined ? `"${hash}"` : `"${hash}-${encoding}"`
}

/** Compresses a file. @param quality of Brotli, 0 to 11 */
export async function compressFile(path: string, body: Buffer, quality: number): Promise<PageFile> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
    promisify(gzip)(body, { level: 9 })
  ])
  const smaller = (file: Buffer) => (file.length < body.length ? file : undefined)
  const [asBr, asGzip] = [smaller(br), smaller(zipped)]
  return { path, body, encoded: { ...(asBr && { br: asBr }), ...(asGzip && { gzip: asGzip }) } }
}
