import { A2A_ERR_BAD_ANSWER } from '../errors.ts'
import { MAX_ANSWER } from './read-text.ts'

/**
 * The data of each message of an event stream.
 * @throws A2A_ERR_BAD_ANSWER
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const lines = new LineReader()
  let data: string[] = []
  let size = 0
  for await (const chunk of body) {
    for (const line of lines.add(chunk)) {
      if (line.startsWith('data:')) {
        size += line.length
        if (size > MAX_ANSWER) throw tooLarge()
        data.push(line.slice(line[5] === ' ' ? 6 : 5))
      } else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
        size = 0
      }
    }
  }
}

function tooLarge(): Error {
  return new A2A_ERR_BAD_ANSWER('an event is too large')
}

// What has no end yet is kept in pieces: a long line costs no more for coming in many.
class LineReader {
  readonly #decoder = new TextDecoder()
  #pieces: string[] = []
  #size = 0
  #afterReturn = false

  #keep(piece: string): void {
    this.#size += piece.length
    if (this.#size > MAX_ANSWER) throw tooLarge()
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
