import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { HTTP_ERR_BAD_MULTIPART } from '../errors.ts'
import { boundaryOf, DelimiterCounter } from './delimiter-counter.ts'

/** One part of a form: a file if it has a file name, else a text field. */
export interface FormPart {
  readonly name: string
  readonly filename: string | undefined
  /** In lower case, no parameters; default `text/plain`. */
  readonly mimeType: string
  readonly content: AsyncIterable<Buffer>
}

// Every part as a stream, so that text is limited and its encoding checked on arrival. We apply the limits ourselves.
const STREAMING = {
  isPartAFile: () => true,
  preservePath: true,
  throwFileSizeLimit: false,
  limits: { fileSize: Infinity, files: Infinity, fields: Infinity, parts: Infinity }
}

/**
 * Yields the parts of a multipart request as they arrive. Read each to its end before the next.
 * @throws HTTP_ERR_BAD_MULTIPART if the body has no boundary, is truncated or malformed
 */
export async function* readParts(request: FastifyRequest): AsyncGenerator<FormPart> {
  const { raw } = request
  const boundary = boundaryOf(request.headers['content-type'])
  if (boundary === undefined) throw new HTTP_ERR_BAD_MULTIPART('its boundary is missing')
  const delimiters = new DelimiterCounter(boundary)
  const count = (chunk: Buffer) => delimiters.add(chunk)
  let parts = 0

  // Attach before the parser reads the first chunk.
  raw.on('data', count)
  // Only while `@fastify/multipart` reads; see receive-uploads.ts.
  request.isMultipart = () => true
  try {
    for await (const part of readFrom(request.parts(STREAMING))) {
      if (part.type !== 'file') throw new HTTP_ERR_BAD_MULTIPART('it cannot be parsed')
      parts++
      try {
        yield toFormPart(part, delimiters.extendedNames.get(parts - 1))
      } finally {
        // A part left unread would stall the parser.
        if (!part.file.readableEnded) part.file.destroy()
      }
    }
  } finally {
    raw.off('data', count)
    request.isMultipart = () => false
  }
  if (delimiters.count !== parts + 1) throw new HTTP_ERR_BAD_MULTIPART('the name of a part is not readable')
}

function toFormPart(
  { fieldname, filename, mimetype, file }: MultipartFile,
  extendedName: string | undefined
): FormPart {
  // Names are already decoded.
  if (typeof fieldname !== 'string' || fieldname === '' || fieldname.includes('\ufffd')) {
    throw new HTTP_ERR_BAD_MULTIPART('the name of a part is not readable')
  }
  return {
    name: fieldname,
    filename: extendedName ?? filename,
    mimeType: mimetype,
    content: readFrom<Buffer>(file)
  }
}

// Only a bad body or a broken connection can fail here.
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
