import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { HTTP_ERR_BAD_MULTIPART } from '../errors.ts'

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

/** Characters of the headers of a part that are looked at. */
const MAX_HEAD = 4_096

const DISPOSITION = /^content-disposition:(.*)$/im
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const EXTENDED = /;\s*filename\*\s*=\s*([\w-]+)'[^']*'([^\s;'"]+)/i

/** Collects the headers of the parts of a form, and has the file name of each that `filename*` gives. */
class ExtendedNames {
  readonly #names: (string | undefined)[] = []
  // The headers so far of the part that has begun.
  #head: string | undefined

  /** The name of a part, by its place in the form; undefined if `filename*` gives none. */
  get(part: number): string | undefined {
    return this.#names[part]
  }

  /** A part begins. */
  begin(): void {
    if (this.#head !== undefined) this.#names.push(undefined)
    this.#head = ''
  }

  /** Bytes of the part follow. */
  add(bytes: Buffer): void {
    if (this.#head === undefined) return
    this.#head += bytes.toString('latin1', 0, MAX_HEAD)
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0 && this.#head.length < MAX_HEAD) return
    this.#names.push(end < 0 ? undefined : extendedNameIn(this.#head.slice(0, Math.min(end, MAX_HEAD))))
    this.#head = undefined
  }
}

// RFC 6266, section 4.3, and RFC 8187, section 3.2: `filename*` is preferred to `filename`.
function extendedNameIn(head: string): string | undefined {
  const unfolded = head.replace(/\r\n[ \t]+/g, ' ')
  const [, disposition = ''] = DISPOSITION.exec(unfolded) ?? []
  const [, charset, value] = EXTENDED.exec(disposition.replace(QUOTED, '""')) ?? []
  if (value === undefined) return undefined
  try {
    if (/^utf-8$/i.test(charset!)) return decodeURIComponent(value)
    if (/^iso-8859-1$/i.test(charset!)) return unescapeLatin1(value)
  } catch {
    // The plain name is left.
  }
  return undefined
}

function unescapeLatin1(value: string): string {
  return value.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
}

/**
 * Counts the delimiters of a multipart body, one more than its parts. A lower count of parsed parts reveals parts that the
 * parser skipped silently because their header is unreadable. Reads the names of files that the parser overwrites.
 */
export class DelimiterCounter {
  count = 0
  readonly extendedNames = new ExtendedNames()
  readonly #delimiter: Buffer
  // The last bytes of the previous chunk. Starts with a line break, since the first delimiter may lack one.
  #tail: Buffer = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  add(chunk: Buffer): void {
    const reach = this.#delimiter.length - 1
    const seam = Buffer.concat([this.#tail, chunk.subarray(0, reach)])
    const ends = [...this.#endsIn(seam).map((end) => end - this.#tail.length), ...this.#endsIn(chunk)]
    this.count += ends.length
    let read = 0
    for (const end of ends) {
      this.extendedNames.add(chunk.subarray(read, end))
      this.extendedNames.begin()
      read = end
    }
    this.extendedNames.add(chunk.subarray(read))
    this.#tail = Buffer.from((chunk.length < reach ? seam : chunk).subarray(-reach))
  }

  #endsIn(bytes: Buffer): number[] {
    const ends: number[] = []
    let at = bytes.indexOf(this.#delimiter)
    while (at !== -1) {
      ends.push(at + this.#delimiter.length)
      at = bytes.indexOf(this.#delimiter, at + this.#delimiter.length)
    }
    return ends
  }
}

/** The boundary in a content type. */
export function boundaryOf(contentType = ''): string | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted ?? plain
}
