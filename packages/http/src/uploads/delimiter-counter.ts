import { ExtendedNames } from './extended-name.ts'

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
