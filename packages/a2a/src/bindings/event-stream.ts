import { encodePieces, isPromise, isShort, type Awaitable, type LogEntry } from '@svc/contract'
import { createSseStream, type SseProjection } from '@svc/surface'
import { sizeOfEntry } from '@svc/contract/stores'
import type { TaskEvent } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import type { TaskStream } from '../tasks/task-stream.ts'

/** Events up to this many characters are encoded in one piece. */
const MAX_WHOLE = 131_072

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

  constructor(stream: TaskStream, frame: Frame) {
    this.#stream = stream
    this.#frame = frame
    const { first } = stream
    this.head = isShort(first, MAX_WHOLE) ? this.#whole(first) : this.#pieces([first])
  }

  get ended(): boolean {
    return this.#stream.ended
  }

  encode(entry: LogEntry): Awaitable<string | Iterable<string>> {
    const events = this.#stream.next(entry)
    if (isPromise(events)) return events.then((all) => this.#pieces(all))
    if (sizeOfEntry(entry) > MAX_WHOLE) return this.#pieces(events)
    let text = ''
    for (const event of events) text += this.#whole(event)
    return text
  }

  #whole(event: TaskEvent): string {
    const { encode, before = '', after = '' } = this.#frame
    return encodeData(before + JSON.stringify(encode(event)) + after)
  }

  *#pieces(events: readonly TaskEvent[]): Generator<string, void> {
    const { encode, before = '', after = '' } = this.#frame
    const [head, tail] = encodeData(`${before}\u0000${after}`).split('\u0000') as [string, string]
    for (const event of events) {
      yield head
      yield* encodePieces(encode(event))
      yield tail
    }
  }
}

/** One message of an event stream. */
export function encodeData(json: string): string {
  return `data: ${json}\n\n`
}
