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
