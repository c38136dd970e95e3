import type { Awaitable } from '../contract/ports/awaitable.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { RunFence, SessionKey, SessionMessage, SessionStore } from '../contract/ports/session-store.ts'

/**
 * The stores of a run, which refuse a turn that it saves after another process has leased it.
 * @param created resolves once the record of the run is stored, without which its lease cannot be checked
 */
export function fenceSessions(stores: Stores, fence: RunFence, created: () => Awaitable<unknown>): Stores {
  return { ...stores, sessions: new FencedSessions(stores.sessions, fence, created) }
}

class FencedSessions implements SessionStore {
  readonly #sessions: SessionStore
  readonly #fence: RunFence
  readonly #created: () => Awaitable<unknown>

  constructor(sessions: SessionStore, { runId, epoch }: RunFence, created: () => Awaitable<unknown>) {
    this.#sessions = sessions
    this.#fence = { runId, epoch }
    this.#created = created
  }

  append(key: SessionKey, turnId: string, messages: readonly SessionMessage[]): Awaitable<void> {
    const created = this.#created()
    const append = () => this.#sessions.append(key, turnId, messages, this.#fence)
    return created === undefined ? append() : Promise.resolve(created).then(append)
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
