import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { RUN_ERR_BAD_RANGE } from '@svc/contract'
import { etagOf, headersOf } from './file-headers.ts'
import { readBytes, requireFile, type FileSource } from './require-file.ts'
import { selectBytes, type ByteSpan } from './select-bytes.ts'

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
