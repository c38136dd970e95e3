import { signal } from '@preact/signals'
import { followStream, isEnd, type StreamState } from '../api/event-stream.ts'
import { runStream } from '../api/resources.ts'
import { LogModel } from './log-model.ts'
import { RunModel } from './run-model.ts'

/** A run that a view follows from its first part, until it ends or the view is left. */
export class WatchedRun {
  readonly run: RunModel
  readonly log = new LogModel()
  readonly stream = signal<StreamState | undefined>(undefined)
  readonly fault = signal<unknown>(undefined)
  readonly #abort = new AbortController()

  constructor(runId: string) {
    this.run = new RunModel(runId)
  }

  follow(): void {
    const reader = {
      onParts: (parts: Parameters<RunModel['push']>[0]) => {
        this.run.push(parts)
        this.log.push(parts)
      },
      onState: (state: StreamState) => void (this.stream.value = state),
      isLast: isEnd
    }
    followStream(runStream(this.run.runId), reader, this.#abort.signal).catch(
      (err: unknown) => void (this.fault.value = err)
    )
  }

  close(): void {
    this.#abort.abort()
  }
}
