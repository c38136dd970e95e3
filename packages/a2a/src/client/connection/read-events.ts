import { A2A_ERR_BAD_ANSWER } from '../../errors.ts'

/**
 * The data of each message of an event stream, of at most so many bytes.
 * @throws A2A_ERR_BAD_ANSWER, and what the chunks throw
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number
): AsyncGenerator<string, void> {
  const lines = new LineReader(maxBytes)
  let data: string[] = []
  let size = 0
  for await (const chunk of chunks) {
    for (const line of lines.add(chunk)) {
      if (line.startsWith('data:')) {
        size += Buffer.byteLength(line)
        if (size > maxBytes) throw tooLarge(maxBytes)
        data.push(line.slice(line[5] === ' ' ? 6 : 5))
      } else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
        size = 0
      }
    }
  }
}

function tooLarge(maxBytes: number): Error {
  return new A2A_ERR_BAD_ANSWER(`an event is too large, over ${maxBytes} bytes`)
}

// What has no end yet is kept in pieces: a long line costs no more for coming in many.
class LineReader {
  readonly #decoder = new TextDecoder()
  readonly #maxBytes: number
  #pieces: string[] = []
  #size = 0
  #afterReturn = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  #keep(piece: string): void {
    this.#size += Buffer.byteLength(piece)
    if (this.#size > this.#maxBytes) throw tooLarge(this.#maxBytes)
    this.#pieces.push(piece)
  }

  *add(chunk: Uint8Array): Iterable<string> {
    let text = this.#decoder.decode(chunk, { stream: true })
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1)
    if (text === '') return
    this.#afterReturn = text.endsWith('\r')
    const lines = text.split(/\r\n|\r|\n/)
    const last = lines.pop()!
    for (const line of lines) {
      this.#keep(line)
      yield this.#pieces.join('')
      this.#pieces = []
      this.#size = 0
    }
    this.#keep(last)
  }
}
