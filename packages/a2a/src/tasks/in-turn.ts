import type { KeyedLock } from '@svc/registry'

const NEVER = new AbortController().signal

/** Does what is asked for with a key once all that was begun with it before is done; without a key at once. */
export async function inTurn<T>(
  turns: KeyedLock,
  key: string | undefined,
  act: () => Promise<T>
): Promise<T> {
  if (key === undefined) return act()
  const release = await turns.lock(key, NEVER)
  try {
    return await act()
  } finally {
    release()
  }
}
