import { isShort, type LogEntry } from '@svc/contract'
import { encodeEvents, encodeLarge, MAX_WHOLE, type SseProjection } from '@svc/surface'
import { sizeOfEntry } from '@svc/contract/stores'
import type { ResponseEvent } from '../wire/response-events.ts'
import type { ResponseBuilder } from './response-builder.ts'

/** The last message of a stream. */
const DONE = 'data: [DONE]\n\n'
const before = ({ type }: ResponseEvent) => `event: ${type}\ndata: `

/** The log of a run as the stream of one of its responses, which ends with it. */
export class ResponseStream implements SseProjection {
  readonly #builder: ResponseBuilder
  readonly #id: string
  readonly #startingAfter: number
  // Characters of the log that the response has.
  #size = 0
  #ended = false

  /** @param startingAfter the number of the last event that the client has */
  constructor(builder: ResponseBuilder, id: string, startingAfter = -1) {
    this.#builder = builder
    this.#id = id
    this.#startingAfter = startingAfter
  }

  get ended(): boolean {
    return this.#ended
  }

  // A client that lost its connection resumes; a stream that ended in order, it would take for a whole one.
  get breaksOff(): boolean {
    return true
  }

  encode(entry: LogEntry): string | Iterable<string> {
    const { seq, part } = entry
    const builder = this.#builder
    this.#size += sizeOfEntry(entry)
    if (part.type === 'text' && !part.source?.length) {
      const place = builder.extend(seq, part.text)
      if (place !== undefined) return this.#encodeDelta(place, part.text)
    }
    const events = builder.add(part)
    if (builder.id !== this.#id) return ''
    this.#ended = builder.isOver
    const news = events.filter((event) => event.sequence_number > this.#startingAfter)
    // Events repeat what the log has so far.
    const isLarge = this.#size > MAX_WHOLE && !news.every((event) => isShort(event, MAX_WHOLE))
    const framing = { before, end: this.#ended ? DONE : '' }
    return isLarge ? encodeLarge(news, framing) : encodeEvents(news, framing)
  }

  #encodeDelta(
    { sequence, index, id }: { sequence: number; index: number; id: string },
    delta: string
  ): string {
    if (sequence <= this.#startingAfter || this.#builder.id !== this.#id) return ''
    return `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${sequence},"item_id":"${id}","output_index":${index},"content_index":0,"delta":${JSON.stringify(delta)},"logprobs":[]}\n\n`
  }
}
