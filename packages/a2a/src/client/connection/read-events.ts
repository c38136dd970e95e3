import { createParser } from 'eventsource-parser'
import { A2A_ERR_BAD_ANSWER } from '../../errors.ts'

/**
 * The data of each event of an event stream, of at most `maxBytes`.
 * @throws A2A_ERR_BAD_ANSWER, and what the chunks throw
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const events: string[] = []
  // Bytes since the last event or comment: the parser skips a line of an unknown field however long it is.
  let unread = 0
  let isOver = false
  const parser = createParser({
    maxBufferSize: maxBytes,
    onEvent({ data }) {
      unread = 0
      events.push(data)
    },
    onComment() {
      unread = 0
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') isOver = true
    }
  })
  for await (const chunk of chunks) {
    unread += chunk.byteLength
    parser.feed(decoder.decode(chunk, { stream: true }))
    for (const data of events.splice(0)) {
      if (Buffer.byteLength(data) > maxBytes) throw tooLarge(maxBytes)
      yield data
    }
    if (isOver || unread > maxBytes) throw tooLarge(maxBytes)
  }
}

function tooLarge(maxBytes: number): Error {
  return new A2A_ERR_BAD_ANSWER(`an event is too large, over ${maxBytes} bytes`)
}
