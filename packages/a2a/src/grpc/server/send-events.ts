import type { ServerWritableStream } from '@grpc/grpc-js'
import { isPromise, RUN_ERR_DRAINING } from '@svc/contract'
import { LogReader } from '@svc/surface'
import type { TaskEvent } from '../../model/task.ts'
import type { Surface } from '../../service/surface.ts'
import type { TaskStream } from '../../tasks/task-stream.ts'

type Stream = ServerWritableStream<Buffer, Buffer>

/**
 * Sends the events of a task, as fast as the client takes them: the log is read when there is room for more. The task does not end
 * with the call.
 * @throws RUN_ERR_DRAINING if the task outlives this process, and the errors of the log
 */
export async function sendEvents(
  { runs, heartbeat }: Pick<Surface, 'runs' | 'heartbeat'>,
  events: TaskStream,
  call: Stream,
  encode: (event: TaskEvent) => Buffer
): Promise<void> {
  const reader = new LogReader(runs, events.runId, events.after)
  const idle = new Idle(reader, call, heartbeat)
  try {
    if (!call.write(encode(events.first))) await untilDrained(call)
    while (!events.ended && !reader.ended && !call.destroyed) {
      const reading = reader.read()
      const entries = isPromise(reading) ? await reading : reading
      for (const entry of entries) {
        const making = events.next(entry)
        for (const event of isPromise(making) ? await making : making)
          if (!call.write(encode(event))) await untilDrained(call)
        if (events.ended || call.destroyed) return
      }
      if (entries.length === 0 && !reader.ended) await idle.untilNews()
    }
    if (reader.fault !== undefined) throw reader.fault
    if (reader.suspended) throw new RUN_ERR_DRAINING()
  } finally {
    idle.end()
    reader.close()
  }
}

function untilDrained(call: Stream): Promise<void> {
  if (call.destroyed || !call.writableNeedDrain) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      call.off('drain', done).off('close', done)
      resolve()
    }
    call.on('drain', done).on('close', done)
  })
}

/** Waits for news of a log, or for the client to leave. */
class Idle {
  readonly #reader: LogReader
  readonly #call: Stream
  readonly #timer: NodeJS.Timeout
  #wake: (() => void) | undefined
  readonly #leave = () => this.#wake?.()

  constructor(reader: LogReader, call: Stream, every: number) {
    this.#reader = reader
    this.#call = call
    // A lost wake-up delays the stream by one heartbeat at most.
    this.#timer = setInterval(() => reader.lookAgain(), every).unref()
    call.on('close', this.#leave)
  }

  untilNews(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#reader.onNews(resolve)
      if (this.#call.destroyed) resolve()
    })
  }

  end(): void {
    clearInterval(this.#timer)
    this.#call.off('close', this.#leave)
  }
}
