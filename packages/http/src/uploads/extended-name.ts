/** Characters of the headers of a part that are looked at. */
const MAX_HEAD = 4_096

const DISPOSITION = /^content-disposition:(.*)$/im
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const EXTENDED = /;\s*filename\*\s*=\s*([\w-]+)'[^']*'([^\s;'"]+)/i

/** Collects the headers of the parts of a form, and has the file name of each that `filename*` gives. */
export class ExtendedNames {
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
