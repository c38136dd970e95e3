import type { RunnableKind } from '../contract/names.ts'
import type { StoredRun } from '../stores/run-store.ts'
import type { ResumeState } from './resume-state.ts'

/** A run that waits for its runnable. */
export interface ParkedRun {
  readonly run: StoredRun
  readonly state: ResumeState
}

/** The runs that a restart left and that go on once their runnable is there, within a time. */
export class ParkedRuns {
  readonly #timeout: number
  readonly #expire: (runId: string) => void
  readonly #parked = new Map<string, ParkedRun & { timer: NodeJS.Timeout }>()

  constructor(timeout: number, expire: (runId: string) => void) {
    this.#timeout = timeout
    this.#expire = expire
  }

  park(run: StoredRun, state: ResumeState): void {
    const { runId } = run
    if (this.#parked.has(runId)) return
    const timer = setTimeout(() => {
      if (this.take(runId)) this.#expire(runId)
    }, this.#timeout).unref()
    this.#parked.set(runId, { run, state, timer })
  }

  /** Those of one runnable. */
  of(kind: RunnableKind, name: string): ParkedRun[] {
    return [...this.#parked.values()].filter(({ run }) => run.kind === kind && run.name === name)
  }

  /** Takes one out: true for the call that did. */
  take(runId: string): boolean {
    clearTimeout(this.#parked.get(runId)?.timer)
    return this.#parked.delete(runId)
  }

  close(): void {
    for (const runId of this.#parked.keys()) this.take(runId)
  }
}
