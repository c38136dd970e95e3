import { isPromise, type Awaitable } from '../contract/ports/awaitable.ts'
import type { RunFence } from '../contract/ports/node-lease.ts'
import type { EndTurn, SessionKey, SessionMessage, SessionStore } from '../contract/ports/session-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import { override } from '../access/redact-stores.ts'

type Write = <T>(write: () => Awaitable<T>) => Awaitable<T>

/** A run whose stores are fenced. */
export interface FencedRun {
  readonly stores: Stores
  readonly record: RunFence
  /** Pending while the record of the run is being stored, without which its lease cannot be checked. */
  readonly created: Promise<unknown> | undefined
  /** As in `HostedRun`. */
  readonly suspended: boolean
}

/**
 * The stores of a run, which refuse what it writes after another process has leased it: turns, memories, files, and what browsers
 * and other services know of a session.
 * While it is suspended it keeps the turns of its sessions.
 */
export function fenceStores(run: FencedRun): Stores {
  const { stores } = run
  const { runId, epoch } = run.record
  const fence = { runId, epoch }
  const write: Write = (act) => {
    const { created } = run
    return created === undefined ? act() : created.then(act)
  }
  const { sessions, memory, files, browserStates, remoteSessions } = stores
  return {
    ...stores,
    sessions: new FencedSessions(sessions, fence, write, run),
    memory: override(memory, { put: (item) => write(() => memory.put(item, fence)) }),
    ...(files && {
      files: override(files, { put: (id, file) => write(() => files.put(id, file, fence)) })
    }),
    ...(browserStates && {
      browserStates: override(browserStates, {
        save: (key, state) => write(() => browserStates.save(key, state, fence))
      })
    }),
    ...(remoteSessions && {
      remoteSessions: override(remoteSessions, {
        save: (key, remote, session) => write(() => remoteSessions.save(key, remote, session, fence))
      })
    })
  }
}

// A class, since every run of an agent calls it several times.
class FencedSessions implements SessionStore {
  readonly #sessions: SessionStore
  readonly #fence: RunFence
  readonly #write: Write
  readonly #run: Pick<FencedRun, 'suspended'>

  constructor(sessions: SessionStore, fence: RunFence, write: Write, run: Pick<FencedRun, 'suspended'>) {
    this.#sessions = sessions
    this.#fence = fence
    this.#write = write
    this.#run = run
  }

  append(key: SessionKey, turnId: string, messages: readonly SessionMessage[]): Awaitable<void> {
    return this.#write(() => this.#sessions.append(key, turnId, messages, this.#fence))
  }

  load(key: SessionKey, maxMessages: number): Awaitable<SessionMessage[]> {
    return this.#sessions.load(key, maxMessages)
  }

  remove(key: SessionKey): Awaitable<void> {
    return this.#sessions.remove(key)
  }

  sweep(now: number): Awaitable<number> {
    return this.#sessions.sweep(now)
  }

  lock(key: SessionKey, signal: AbortSignal, holder?: string): Awaitable<EndTurn> {
    const keepsTurn = (end: EndTurn) => () => end(this.#run.suspended)
    const locked = this.#sessions.lock(key, signal, holder)
    return isPromise(locked) ? locked.then(keepsTurn) : keepsTurn(locked)
  }
}
