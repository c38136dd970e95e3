import {
  isOfSession,
  isPromise,
  sessionKeyText,
  type Awaitable,
  type RunFence,
  type SessionKey,
  type SessionKeyQuery
} from '@svc/contract'
import { RecentMap } from './aging-map.ts'

/** Refuses what a run writes that was leased again or removed. */
export interface FenceCheck {
  /** Does nothing without a fence. @throws RUN_ERR_FENCED as `RunFence` says */
  requireEpoch(fence: RunFence | undefined): Awaitable<void>
}

const MAX_SESSIONS = 10_000
const NO_CHECK: FenceCheck = { requireEpoch: () => undefined }

/** One value per session in process memory: at least `size` recently used ones, and at most twice as many. */
export class BySession<V> {
  readonly #runs: FenceCheck
  readonly #kept: RecentMap<{ key: SessionKey; value: V }>

  constructor(runs = NO_CHECK, size = MAX_SESSIONS) {
    this.#runs = runs
    this.#kept = new RecentMap(size)
  }

  get(key: SessionKey): V | undefined {
    return this.#kept.get(sessionKeyText(key))?.value
  }

  /** Replaces the value by what `change` makes of it. @throws RUN_ERR_FENCED as `RunFence` says */
  change(key: SessionKey, fence: RunFence | undefined, change: (value: V | undefined) => V): Awaitable<void> {
    const { registry, owner, kind, name, sessionId } = key
    const kept = { registry, owner, kind, name, sessionId }
    const save = () => this.#kept.set(sessionKeyText(key), { key: kept, value: change(this.get(key)) })
    const checked = this.#runs.requireEpoch(fence)
    return isPromise(checked) ? checked.then(save) : save()
  }

  delete(key: SessionKey): void {
    this.#kept.delete(sessionKeyText(key))
  }

  /** As `OwnedSessions.keys`. */
  keys({ owner, sessionId, limit }: SessionKeyQuery): SessionKey[] {
    const found: SessionKey[] = []
    for (const { key } of this.#kept.values()) {
      if (key.owner !== owner) continue
      if (sessionId === undefined || isOfSession(key.sessionId, sessionId)) found.push(key)
      if (found.length === limit) break
    }
    return found
  }
}
