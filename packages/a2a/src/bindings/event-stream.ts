import type { Readable } from 'node:stream'
import type { LogEntry } from '@svc/registry'
import { createSseStream, type SseProjection } from '@svc/registry/sse'
import type { TaskEvent } from '../model/task-event.ts'
import type { Surface } from '../surface.ts'
import type { TaskStream } from '../tasks/task-stream.ts'

/** A task's stream as the bytes of an event stream; `frame` makes the JSON of one event. */
export function createEventStream(
  { runs, heartbeat }: Surface,
  stream: TaskStream,
  frame: (event: TaskEvent) => string
): Readable {
  return createSseStream(runs, stream.runId, {
    after: stream.after,
    heartbeat,
    projection: new EventProjection(stream, frame)
  })
}

class EventProjection implements SseProjection {
  readonly head: string
  readonly #stream: TaskStream
  readonly #frame: (event: TaskEvent) => string

  constructor(stream: TaskStream, frame: (event: TaskEvent) => string) {
    this.#stream = stream
    this.#frame = frame
    this.head = encodeData(frame(stream.first))
  }

  get ended(): boolean {
    return this.#stream.ended
  }

  encode(entry: LogEntry): string {
    let text = ''
    for (const event of this.#stream.next(entry)) text += encodeData(this.#frame(event))
    return text
  }
}

/** One message of an event stream. */
export function encodeData(json: string): string {
  return `data: ${json}\n\n`
}
