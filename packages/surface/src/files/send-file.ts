import { once } from 'node:events'
import { Readable } from 'node:stream'
import { MIMEType } from 'node:util'
import { isExposed, toLoggable, type FileStore, type RunLog, type StoredFile } from '@svc/contract'
import {
  RUN_ERR_BAD_RANGE,
  RUN_ERR_DAMAGED,
  RUN_ERR_FILE_NOT_FOUND,
  RUN_ERR_FILES_NOT_KEPT,
  RUN_ERR_STORE
} from '@svc/contract/errors'
import { create as createDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** UTF-16 code units of a file name. */
const MAX_NAME = 200

/** Types that browsers show as they are. Any `+xml` type may have scripts, so also `image/svg+xml`. */
const SHOWN = /^(?:image\/(?:apng|avif|bmp|gif|jpeg|png|webp)|(?:audio|video)\/[\w.-]+|text\/plain)$/
const PLAYED = /^(?:audio|video)\//

// The viewers of browsers have inline styles, and a player loads its own address again, from the document's origin.
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
const PLAYER_SANDBOX =
  "sandbox allow-same-origin; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"

/** The entity tag of a file: its content never changes. */
function etagOf({ sha256 }: Pick<StoredFile, 'sha256'>): string {
  return `"${sha256}"`
}

/**
 * The headers with which any file can be served from the origin of the app: browsers neither guess its type nor run anything in it,
 * and pages of other origins cannot embed it.
 */
export function headersOf(file: Pick<StoredFile, 'mimeType' | 'filename'>): Record<string, string> {
  const type = parseType(file.mimeType)
  const essence = type?.essence ?? ''
  const disposition = SHOWN.test(essence) ? 'inline' : 'attachment'
  return {
    'content-type': String(type ?? 'application/octet-stream'),
    'content-disposition': createDisposition(toSafeName(file.filename), { type: disposition }),
    'content-security-policy': PLAYED.test(essence) ? PLAYER_SANDBOX : SANDBOX,
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'accept-ranges': 'bytes'
  }
}

function parseType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text)
  } catch {
    return undefined
  }
}

// Without paths, line breaks, and characters that change the direction of a text to hide its extension.
function toSafeName(name: string | undefined): string | undefined {
  const safe = name
    ?.slice(0, MAX_NAME)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}/\\]/gu, '_')
    .trim()
  return safe === '' ? undefined : safe
}

/** Where the files of runs are read, and where failures to read them are logged. */
export interface FileSource {
  /** The file store of the engine, if it has one. */
  readonly files: FileStore | undefined
  readonly log: RunLog
}

/** Describes a file of a run. @throws RUN_ERR_FILES_NOT_KEPT, RUN_ERR_FILE_NOT_FOUND, RUN_ERR_STORE */
export async function requireFile(
  { files }: Pick<FileSource, 'files'>,
  runId: string,
  fileId: string
): Promise<StoredFile> {
  if (files === undefined) throw new RUN_ERR_FILES_NOT_KEPT()
  const found = await files.get(runId, fileId)
  if (found === undefined) throw new RUN_ERR_FILE_NOT_FOUND(fileId)
  return found.file
}

/**
 * Reads exactly these bytes of a file, as they are asked for. Failures of the store are logged.
 * @throws RUN_ERR_FILE_NOT_FOUND, RUN_ERR_DAMAGED if the store has fewer bytes or more, RUN_ERR_STORE, and what the store throws for a
 * file that was removed meanwhile
 */
export async function* readBytes(
  { files, log }: FileSource,
  runId: string,
  fileId: string,
  { start, end }: ByteSpan
): AsyncGenerator<Uint8Array, void> {
  const found = await files?.get(runId, fileId, { start, end })
  if (found === undefined) throw new RUN_ERR_FILE_NOT_FOUND(fileId)
  let left = end - start
  try {
    for await (const bytes of found.content) {
      left -= bytes.length
      if (left < 0) break
      yield bytes
    }
  } catch (err) {
    if (isExposed(err)) throw err
    log.error({ runId, fileId, err: toLoggable(err) }, 'a file cannot be read')
    throw new RUN_ERR_STORE()
  }
  if (left !== 0) throw new RUN_ERR_DAMAGED(`the file "${fileId}" does not have its size`)
}

/** A part of a file: from the byte `start` to before the byte `end`. */
export interface ByteSpan {
  readonly start: number
  readonly end: number
}

/**
 * The bytes that a `Range` header selects from a file of `size` bytes; null if it has none of them. Undefined, for the whole file:
 * without a header, and for several ranges, another unit or a malformed header, which servers may ignore.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-14.2
 */
export function selectBytes(header: string | undefined, size: number): ByteSpan | null | undefined {
  const [, ranges = ''] = /^bytes=(.*)$/i.exec(header ?? '') ?? []
  // Lists may have empty elements.
  const [range, ...others] = ranges.split(',').flatMap((each) => each.trim() || [])
  const [, first, last] = /^(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (first === undefined || last === undefined || others.length > 0) return undefined
  if (first === '') return last === '' ? undefined : selectLast(Number(last), size)
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  const end = last === '' ? size : Math.min(Number(last) + 1, size)
  return start < size ? { start, end } : null
}

function selectLast(count: number, size: number): ByteSpan | null | undefined {
  if (count === 0) return null
  // `Content-Range` cannot express a range of an empty file.
  return size === 0 ? undefined : { start: Math.max(0, size - count), end: size }
}

/**
 * Replies with a file of a run, to GET or HEAD: the whole file, one range of it (206), or nothing that the client has already (304).
 * It is read as fast as the client takes it. What goes wrong before its first bytes is thrown; later it closes the connection.
 * @throws RUN_ERR_FILES_NOT_KEPT, RUN_ERR_FILE_NOT_FOUND, RUN_ERR_BAD_RANGE, RUN_ERR_DAMAGED, RUN_ERR_STORE
 */
export async function sendFile(
  source: FileSource,
  runId: string,
  fileId: string,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const file = await requireFile(source, runId, fileId)
  const { size } = file
  const etag = etagOf(file)
  // For HEAD a stream, since Fastify takes the length of anything else.
  const isHead = request.method === 'HEAD'
  const nothing = isHead ? Readable.from([]) : undefined
  // Revalidated each time, so that a copy in a browser does not outlast the file or the right to read it.
  const validators = { etag, 'cache-control': 'private, no-cache, no-transform' }
  if (hasCopy(request.headers['if-none-match'], etag))
    return reply.code(304).headers(validators).send(nothing)

  const range = isHead ? undefined : selectRange(request, etag, size)
  if (range === null) {
    reply.header('content-range', `bytes */${size}`)
    throw new RUN_ERR_BAD_RANGE(size)
  }
  const span = range ?? { start: 0, end: size }
  const content = isHead ? nothing : await openStream(source, runId, fileId, span)
  reply
    .headers(validators)
    .headers(headersOf(file))
    .header('content-length', span.end - span.start)
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end - 1}/${size}`)
  return reply.send(content)
}

// RFC 9110, section 13.1.2: compared weakly.
function hasCopy(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false
  return given.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === etag)
}

// RFC 9110, section 13.1.5: compared strongly; files have no date of modification.
function selectRange({ headers }: FastifyRequest, etag: string, size: number): ByteSpan | null | undefined {
  const condition = headers['if-range']
  return condition === undefined || condition === etag ? selectBytes(headers.range, size) : undefined
}

/** Opens a stream that has read its first bytes. @throws what `readBytes` throws before them */
async function openStream(
  source: FileSource,
  runId: string,
  fileId: string,
  span: ByteSpan
): Promise<Readable> {
  const stream = Readable.from(readBytes(source, runId, fileId, span), { objectMode: false })
  await once(stream, 'readable')
  // Fastify listens only once the stream is sent; an error without a listener would end the process.
  return stream.on('error', () => {})
}
