/**
 * Counts the delimiters of a multipart body, one more than its parts. A lower count of parsed parts reveals parts that the
 * parser skipped silently because their header is unreadable.
 */
export class DelimiterCounter {
  count = 0
  readonly #delimiter: Buffer
  // The last bytes of the previous chunk. Starts with a line break, since the first delimiter may lack one.
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

/** The boundary in a content type. */
export function boundaryOf(contentType = ''): string | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted ?? plain
}
