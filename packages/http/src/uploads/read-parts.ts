import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { HTTP_ERR_BAD_MULTIPART } from '../errors.ts'
import { boundaryOf, DelimiterCounter } from './delimiter-counter.ts'

/** One part of a form: with a file name it is a file, without one a text field. */
export interface FormPart {
  readonly name: string
  readonly filename: string | undefined
  /** In lower case, no parameters; `text/plain` where it is not declared. */
  readonly mimeType: string
  readonly content: AsyncIterable<Buffer>
}

// Every part as a stream: text is to be limited, and its encoding checked, as it comes. The limits are ours.
const STREAMING = {
  isPartAFile: () => true,
  preservePath: true,
  throwFileSizeLimit: false,
  limits: { fileSize: Infinity, files: Infinity, fields: Infinity, parts: Infinity }
}

/**
 * The parts of a multipart request as they come. Each has to be read to its end before the next.
 * @throws HTTP_ERR_BAD_MULTIPART when the body has no boundary, is cut short or malformed
 */
export async function* readParts(request: FastifyRequest): AsyncGenerator<FormPart> {
  const { raw } = request
  const boundary = boundaryOf(request.headers['content-type'])
  if (boundary === undefined) throw new HTTP_ERR_BAD_MULTIPART('its boundary is missing')
  const delimiters = new DelimiterCounter(boundary)
  const count = (chunk: Buffer) => delimiters.add(chunk)
  let parts = 0

  // The parser is attached before the first chunk comes.
  raw.on('data', count)
  // For `@fastify/multipart`, and only for as long as it reads; see receive-uploads.ts.
  request.isMultipart = () => true
  try {
    for await (const part of readFrom(request.parts(STREAMING))) {
      if (part.type !== 'file') throw new HTTP_ERR_BAD_MULTIPART('it cannot be parsed')
      parts++
      try {
        yield toFormPart(part)
      } finally {
        // One that is not read to its end ends the parsing.
        if (!part.file.readableEnded) part.file.destroy()
      }
    }
  } finally {
    raw.off('data', count)
    request.isMultipart = () => false
  }
  if (delimiters.count !== parts + 1) throw new HTTP_ERR_BAD_MULTIPART('a part has no name that can be read')
}

function toFormPart({ fieldname, filename, mimetype, file }: MultipartFile): FormPart {
  // Names are decoded before they come here.
  if (typeof fieldname !== 'string' || fieldname === '' || fieldname.includes('\ufffd')) {
    throw new HTTP_ERR_BAD_MULTIPART('a part has no name that can be read')
  }
  return {
    name: fieldname,
    filename,
    mimeType: mimetype,
    content: readFrom<Buffer>(file)
  }
}

// What fails here is the body or the connection, never ours.
async function* readFrom<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source
  } catch (err) {
    const isName = (err as { code?: string }).code === 'FST_PROTO_VIOLATION'
    throw new HTTP_ERR_BAD_MULTIPART(
      isName ? 'a field has a forbidden name' : 'it cannot be parsed, or ends too early'
    )
  }
}
