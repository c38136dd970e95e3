import type { Awaitable } from '../contract/ports/awaitable.ts'
import type { RunFence } from '../contract/ports/node-lease.ts'
import type { SessionKey, SessionMessage, SessionStore } from '../contract/ports/session-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import { override } from '../access/redact-stores.ts'

type Write = <T>(write: () => Awaitable<T>) => Awaitable<T>

/**
 * The stores of a run, which refuse what it writes after another process has leased it: turns, memories, files, and what browsers
 * and other services know of a session.
 * @param created resolves once the record of the run is stored, without which its lease cannot be checked
 */
export function fenceStores(
  stores: Stores,
  { runId, epoch }: RunFence,
  created: () => Awaitable<unknown>
): Stores {
  const fence = { runId, epoch }
  const write: Write = (act) => {
    const pending = created()
    return pending === undefined ? act() : Promise.resolve(pending).then(act)
  }
  const { sessions, memory, files, browserStates, remoteSessions } = stores
  return {
    ...stores,
    sessions: new FencedSessions(sessions, fence, write),
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

  constructor(sessions: SessionStore, fence: RunFence, write: Write) {
    this.#sessions = sessions
    this.#fence = fence
    this.#write = write
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

  lock(key: SessionKey, signal: AbortSignal, holder?: string): Awaitable<() => void> {
    return this.#sessions.lock(key, signal, holder)
  }
}
