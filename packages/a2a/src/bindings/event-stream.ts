import { isPromise, isShort, type Awaitable, type LogEntry } from '@svc/contract'
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

class EventProjection implements SseProjection {
  readonly head: string | Iterable<string>
  readonly #stream: TaskStream
  readonly #frame: Frame
  readonly #framing: { before: string; after: string }

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
    const events = this.#stream.next(entry)
    if (isPromise(events)) return events.then((all) => this.#inPieces(all))
    return encodeEntry(entry, events.map(this.#frame.encode), this.#framing)
  }

  #inPieces(events: readonly TaskEvent[]): Iterable<string> {
    return encodeLarge(events.map(this.#frame.encode), this.#framing)
  }
}

/** One message of an event stream. */
export function encodeData(json: string): string {
  return `data: ${json}\n\n`
}
