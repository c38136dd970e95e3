import { toLoggable, type ControlBus, type ControlMessage, type RunLog, type RunSummary } from '@svc/contract'
import type { Run } from '@svc/surface'

/** A run to cancel when its last socket has left. */
interface Kept {
  readonly run: Pick<Run, 'runId' | 'cancel'>
  readonly owner: string
  /** The ids of the socket that started it, and of those of its owner that watch it, on any node. */
  readonly sockets: Set<string>
  timer: NodeJS.Timeout | undefined
}

/** A socket, by an id that no socket of another node has. */
interface KeptSocket {
  readonly id: string
}

/** What a keeper needs. */
export interface RunKeeperHost {
  /** Milliseconds in which a socket may return. */
  readonly grace: number
  /** Announces watching sockets to the nodes that have their runs. */
  readonly control: ControlBus
  readonly log: Pick<RunLog, 'error'>
}

/**
 * Cancels runs whose sockets left, after a grace period in which a socket of the owner may return by watching the run, on any node.
 * Watchers of other owners' runs, or of runs not started on a socket, never cancel them by leaving.
 */
export class RunKeeper {
  readonly #kept = new Map<string, Kept>()
  // The runs that sockets of this node watch, and that this keeper does not have.
  readonly #announced = new Map<string, Set<string>>()
  readonly #host: RunKeeperHost
  readonly #unsubscribe: () => void

  constructor(host: RunKeeperHost) {
    this.#host = host
    this.#unsubscribe = host.control.subscribe((message) => {
      if (message.type === 'watch') this.#receive(message)
    })
  }

  /** Ties a run to the socket that started it. */
  keep(run: Pick<Run, 'runId' | 'cancel' | 'result'>, owner: string, { id }: KeptSocket): void {
    this.#kept.set(run.runId, { run, owner, sockets: new Set([id]), timer: undefined })
    const forget = () => {
      clearTimeout(this.#kept.get(run.runId)?.timer)
      this.#kept.delete(run.runId)
    }
    run.result().then(forget, forget)
  }

  /** A socket of a caller follows an unfinished run; a socket of the run's owner keeps it running. */
  join({ runId, owner }: Pick<RunSummary, 'runId' | 'owner'>, caller: string, { id }: KeptSocket): void {
    if (owner !== caller) return
    const kept = this.#kept.get(runId)
    if (kept !== undefined) return addSocket(kept, id)
    const announced = this.#announced.get(id) ?? new Set()
    this.#announced.set(id, announced.add(runId))
    void this.#publish({ type: 'watch', runId, watcher: id })
  }

  /** A socket has followed a run to its end. */
  ended(runId: string, { id }: KeptSocket): void {
    const announced = this.#announced.get(id)
    if (announced?.delete(runId) && announced.size === 0) this.#announced.delete(id)
  }

  /** A socket disconnected. */
  leave({ id }: KeptSocket): void {
    for (const kept of this.#kept.values()) this.#removeSocket(kept, id)
    const announced = this.#announced.get(id)
    if (announced === undefined) return
    this.#announced.delete(id)
    for (const runId of announced) void this.#publish({ type: 'watch', runId, watcher: id, left: true })
  }

  /** Forgets all runs without canceling any. */
  close(): void {
    this.#unsubscribe()
    for (const { timer } of this.#kept.values()) clearTimeout(timer)
    this.#kept.clear()
    this.#announced.clear()
  }

  #receive({ runId, watcher, left }: Extract<ControlMessage, { type: 'watch' }>): void {
    const kept = this.#kept.get(runId)
    if (kept === undefined) return
    if (left) this.#removeSocket(kept, watcher)
    else addSocket(kept, watcher)
  }

  #removeSocket(kept: Kept, id: string): void {
    if (!kept.sockets.delete(id) || kept.sockets.size > 0) return
    kept.timer = setTimeout(() => this.#cancel(kept.run), this.#host.grace)
  }

  async #publish(message: ControlMessage): Promise<void> {
    try {
      await this.#host.control.publish(message)
    } catch (err) {
      const { runId } = message
      this.#host.log.error({ err: toLoggable(err), runId }, 'a watching client could not be announced')
    }
  }

  #cancel(run: Kept['run']): void {
    run.cancel().catch((err: unknown) => {
      const { runId } = run
      this.#host.log.error(
        { err: toLoggable(err), runId },
        'the run of a disconnected client could not be canceled'
      )
    })
  }
}

function addSocket(kept: Kept, id: string): void {
  clearTimeout(kept.timer)
  kept.timer = undefined
  kept.sockets.add(id)
}
