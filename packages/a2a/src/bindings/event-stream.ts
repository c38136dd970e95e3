import { isPromise, isShort, randomId, type Awaitable, type LogEntry } from '@svc/contract'
import { encodeText, sizeOfEntry } from '@svc/contract/stores'
import {
  createSseStream,
  encodeEntry,
  encodeEvents,
  encodeLarge,
  MAX_WHOLE,
  type SseProjection
} from '@svc/surface'
import type { TaskEvent } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import type { TaskStream } from '../tasks/task-stream.ts'

/** Encodes an event, and the text around its JSON. */
export interface Frame {
  encode(event: TaskEvent): object
  before?: string
  after?: string
}

/** Encodes the stream of a task as server-sent events. */
export function createEventStream(
  { runs, heartbeat }: Surface,
  stream: TaskStream,
  frame: Frame
): ReadableStream<string> {
  return createSseStream(runs, stream.runId, {
    after: stream.after,
    heartbeat,
    projection: new EventProjection(stream, frame)
  })
}

/** A text that no event has. */
const MARK = randomId()

class EventProjection implements SseProjection {
  readonly head: string | Iterable<string>
  readonly #stream: TaskStream
  readonly #frame: Frame
  readonly #framing: { before: string; after: string }
  // What the messages of texts that continue the answer have before and after the JSON of the text; undefined before the first of them.
  #around: readonly string[] | undefined

  constructor(stream: TaskStream, frame: Frame) {
    const { before = '', after = '' } = frame
    this.#stream = stream
    this.#frame = frame
    this.#framing = { before: `data: ${before}`, after: `${after}\n\n` }
    const { first } = stream
    this.head = isShort(first, MAX_WHOLE)
      ? encodeEvents([frame.encode(first)], this.#framing)
      : this.#inPieces([first])
  }

  get ended(): boolean {
    return this.#stream.ended
  }

  encode(entry: LogEntry): Awaitable<string | Iterable<string>> {
    const { part } = entry
    const isText = part.type === 'text' && sizeOfEntry(entry) <= MAX_WHOLE
    if (isText && this.#around !== undefined && this.#stream.continueText(part))
      return this.#around[0] + encodeText(entry, part.text) + this.#around[1]
    const events = this.#stream.next(entry)
    if (isPromise(events)) return events.then((all) => this.#inPieces(all))
    if (isText) this.#around ??= this.#surround(events[0])
    return encodeEntry(entry, events.map(this.#frame.encode), this.#framing)
  }

  #surround(event: TaskEvent | undefined): readonly string[] | undefined {
    if (event?.type !== 'artifact' || !event.append) return undefined
    const marked = { ...event, artifact: { ...event.artifact, parts: [{ text: MARK }] } }
    return encodeEvents([this.#frame.encode(marked)], this.#framing).split(JSON.stringify(MARK))
  }

  #inPieces(events: readonly TaskEvent[]): Iterable<string> {
    return encodeLarge(events.map(this.#frame.encode), this.#framing)
  }
}

/** One message of an event stream. */
export function encodeData(json: string): string {
  return `data: ${json}\n\n`
}
