import { isShort, type LogEntry } from '@svc/contract'
import { encodeLarge, MAX_WHOLE, type RunProjection } from '@svc/surface'
import { encodeText, sizeOfEntry } from '@svc/contract/stores'
import type { ResponseEvent } from '../wire/response-events.ts'
import { encodeParameters, encodeResponse, type ResponseState } from '../wire/response-object.ts'
import type { OpenText } from './output-items.ts'
import type { BuiltEvent, ResponseBuilder } from './response-builder.ts'

/** What surrounds the JSON of the events. */
export interface EventFraming {
  readonly before: (type: ResponseEvent['type']) => string
  readonly after: string
  /** After the last one. */
  readonly end: string
}

/** Messages of server-sent events. */
const MESSAGES: EventFraming = {
  before: (type) => `event: ${type}\ndata: `,
  after: '\n\n',
  end: 'data: [DONE]\n\n'
}
/** An event on each line: JSON has no raw line breaks. */
export const LINES: EventFraming = { before: () => '', after: '\n', end: '' }

/** What of a response is streamed, and how. */
export interface ResponseStreamOptions {
  /** The number of the last event that the client has. */
  readonly startingAfter?: number | undefined
  /** Default: server-sent events. */
  readonly framing?: EventFraming
}

/** The log of a run as the stream of one of its responses, which ends with it. */
export class ResponseStream implements RunProjection {
  readonly #builder: ResponseBuilder
  readonly #id: string
  readonly #startingAfter: number
  readonly #framing: EventFraming
  // What precedes the number of an increment.
  readonly #delta: string
  // Characters of the log that the response has.
  #size = 0
  #ended = false
  // What the increments of the message under way have between their number and their text.
  #open: OpenText | undefined
  #place = ''
  // The last state of the response, which two events may have, and what all states have in common.
  #state: ResponseState | undefined
  #response = ''
  #parameters: string | undefined

  constructor(
    builder: ResponseBuilder,
    id: string,
    { startingAfter = -1, framing = MESSAGES }: ResponseStreamOptions = {}
  ) {
    this.#builder = builder
    this.#id = id
    this.#startingAfter = startingAfter
    this.#framing = framing
    const type = 'response.output_text.delta'
    this.#delta = `${framing.before(type)}{"type":"${type}","sequence_number":`
  }

  /** Characters of the log that it has read. */
  get size(): number {
    return this.#size
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
      const open = builder.extend(seq, part.text)
      if (open !== undefined) return this.#encodeDelta(open, encodeText(entry, part.text))
    }
    const events = builder.add(part)
    if (builder.id !== this.#id) return ''
    this.#ended = builder.isOver
    const first = builder.sequence - events.length
    // Events repeat what the log has so far.
    if (this.#size > MAX_WHOLE && !events.every((event) => isShort(event, MAX_WHOLE)))
      return this.#encodeLarge(events, first)
    let text = ''
    let number = first
    for (const event of events) {
      if (number > this.#startingAfter) text += this.#encodeEvent(event, number)
      number++
    }
    return this.#ended ? text + this.#framing.end : text
  }

  #encodeLarge(events: readonly BuiltEvent[], first: number): Iterable<string> {
    const whole = events.map((event, at) => this.#builder.toEvent(event, first + at))
    const news = whole.filter((event) => event.sequence_number > this.#startingAfter)
    const { before, after, end } = this.#framing
    return encodeLarge(news, { before: ({ type }) => before(type), after, end: this.#ended ? end : '' })
  }

  #encodeEvent(event: BuiltEvent, number: number): string {
    const { type } = event
    const { before, after } = this.#framing
    const start = `${before(type)}{"type":"${type}","sequence_number":${number},`
    if ('state' in event) return `${start}"response":${this.#encodeState(event.state)}}${after}`
    return `${start}${JSON.stringify(event).slice(`{"type":"${type}",`.length)}${after}`
  }

  #encodeState(state: ResponseState): string {
    if (state === this.#state) return this.#response
    this.#parameters ??= encodeParameters(this.#builder.parameters)
    this.#state = state
    return (this.#response = encodeResponse(state, this.#parameters))
  }

  #encodeDelta(open: OpenText, delta: string): string {
    const number = this.#builder.sequence - 1
    if (number <= this.#startingAfter || this.#builder.id !== this.#id) return ''
    if (open !== this.#open) {
      this.#open = open
      this.#place = `,"item_id":"${open.item.id}","output_index":${open.index},"content_index":0,"delta":`
    }
    return `${this.#delta}${number}${this.#place}${delta},"logprobs":[]}${this.#framing.after}`
  }
}
