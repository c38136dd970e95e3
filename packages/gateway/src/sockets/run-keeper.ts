import type { Run, RunLog } from '@svc/registry'
import { toLoggable } from '@svc/registry/kit'

/** A run to cancel when its last socket has left. */
interface Kept {
  readonly run: Pick<Run, 'runId' | 'cancel'>
  readonly owner: string
  /** The socket that started it, and those of its owner that watch it. */
  readonly sockets: Set<object>
  timer: NodeJS.Timeout | undefined
}

/**
 * Cancels runs whose sockets left, after a grace period in which a socket of the owner may return by watching the run.
 * Watchers of other owners' runs, or of runs not started on a socket, never cancel them by leaving.
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

  /** Ties a run to the socket that started it. */
  keep(run: Pick<Run, 'runId' | 'cancel' | 'result'>, owner: string, socket: object): void {
    this.#kept.set(run.runId, { run, owner, sockets: new Set([socket]), timer: undefined })
    const forget = () => {
      clearTimeout(this.#kept.get(run.runId)?.timer)
      this.#kept.delete(run.runId)
    }
    run.result().then(forget, forget)
  }

  /** A socket watches a run; a socket of the owner keeps it running. */
  join(runId: string, owner: string, socket: object): void {
    const kept = this.#kept.get(runId)
    if (kept === undefined || kept.owner !== owner) return
    clearTimeout(kept.timer)
    kept.timer = undefined
    kept.sockets.add(socket)
  }

  /** A socket disconnected. */
  leave(socket: object): void {
    for (const kept of this.#kept.values()) {
      if (!kept.sockets.delete(socket) || kept.sockets.size > 0) continue
      kept.timer = setTimeout(() => this.#cancel(kept.run), this.#grace)
    }
  }

  /** Forgets all runs without canceling any. */
  close(): void {
    for (const { timer } of this.#kept.values()) clearTimeout(timer)
    this.#kept.clear()
  }

  #cancel(run: Kept['run']): void {
    run.cancel().catch((err: unknown) => {
      const { runId } = run
      this.#log.error(
        { err: toLoggable(err), runId },
        'the run of a disconnected client could not be canceled'
      )
    })
  }
}
