/**
 * Counts the delimiters in a multipart body, which are one more than its parts: the parser passes over a part without a
 * readable header as if it had not been there.
 */
export class DelimiterCounter {
  count = 0
  readonly #delimiter: Buffer
  // The end of what came before, too short for a delimiter; the first one may do without its line break.
  #tail: Buffer = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  add(chunk: Buffer): void {
    const reach = this.#delimiter.length - 1
    const seam = Buffer.concat([this.#tail, chunk.subarray(0, reach)])
    this.#search(seam)
    this.#search(chunk)
    this.#tail = Buffer.from((chunk.length < reach ? seam : chunk).subarray(-reach))
  }

  #search(bytes: Buffer): void {
    let at = bytes.indexOf(this.#delimiter)
    while (at !== -1) {
      this.count++
      at = bytes.indexOf(this.#delimiter, at + this.#delimiter.length)
    }
  }
}

/** The boundary that a content type declares. */
export function boundaryOf(contentType = ''): string | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted ?? plain
}
