import type { Run, RunLog } from '@svc/registry'
import { toLoggable } from '@svc/registry/kit'

/** A run that is to end when nobody is left for whom it was started. */
interface Kept {
  readonly run: Pick<Run, 'runId' | 'cancel'>
  readonly owner: string
  /** The sockets for which it goes on: the one that started it, and its owner's that watch it. */
  readonly sockets: Set<object>
  timer: NodeJS.Timeout | undefined
}

/**
 * Ends runs whose sockets went away, some time after: until then a socket of the owner may come back for it, by watching. Who
 * watches the run of another, or one that was not started on a socket, never ends it by leaving.
 */
export class RunKeeper {
  readonly #kept = new Map<string, Kept>()
  readonly #grace: number
  readonly #log: Pick<RunLog, 'error'>

  /** @param grace milliseconds */
  constructor(grace: number, log: Pick<RunLog, 'error'>) {
    this.#grace = grace
    this.#log = log
  }

  /** Keeps a run for as long as it has this socket. */
  keep(run: Pick<Run, 'runId' | 'cancel' | 'result'>, owner: string, socket: object): void {
    this.#kept.set(run.runId, { run, owner, sockets: new Set([socket]), timer: undefined })
    const forget = () => {
      clearTimeout(this.#kept.get(run.runId)?.timer)
      this.#kept.delete(run.runId)
    }
    run.result().then(forget, forget)
  }

  /** A socket watches a run: where it is its owner's, the run goes on for it. */
  join(runId: string, owner: string, socket: object): void {
    const kept = this.#kept.get(runId)
    if (kept === undefined || kept.owner !== owner) return
    clearTimeout(kept.timer)
    kept.timer = undefined
    kept.sockets.add(socket)
  }

  /** A socket is gone. */
  leave(socket: object): void {
    for (const kept of this.#kept.values()) {
      if (!kept.sockets.delete(socket) || kept.sockets.size > 0) continue
      kept.timer = setTimeout(() => this.#cancel(kept.run), this.#grace)
    }
  }

  /** Forgets all of them, and ends none. */
  close(): void {
    for (const { timer } of this.#kept.values()) clearTimeout(timer)
    this.#kept.clear()
  }

  #cancel(run: Kept['run']): void {
    run.cancel().catch((err: unknown) => {
      const { runId } = run
      this.#log.error(
        { err: toLoggable(err), runId },
        'the run of a client that went away could not be canceled'
      )
    })
  }
}
