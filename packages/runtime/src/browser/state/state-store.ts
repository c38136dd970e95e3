import type { Awaitable, SessionKey } from '@svc/registry'
import { sessionKeyText } from '@svc/registry/store-kit'
import type { StorageState } from '../browser.ts'

/** Keeps cookies and local storage of sessions: they are credentials, so a durable store should encrypt them. */
export interface StateStore {
  load(key: SessionKey): Awaitable<StorageState | undefined>
  save(key: SessionKey, state: StorageState): Awaitable<void>
  remove(key: SessionKey): Awaitable<void>
}

const MAX_SESSIONS = 1_000

/** Keeps the state of the sessions that were used last, in the memory of the process. */
export function createInProcessStateStore(maxSessions: number = MAX_SESSIONS): StateStore {
  const states = new Map<string, StorageState>()
  return {
    load: (key) => states.get(sessionKeyText(key)),
    save(key, state) {
      const text = sessionKeyText(key)
      // Last in order of insertion: the first is the one that was unused for longest.
      states.delete(text)
      states.set(text, state)
      if (states.size > maxSessions) states.delete(states.keys().next().value!)
    },
    remove: (key) => void states.delete(sessionKeyText(key))
  }
}
