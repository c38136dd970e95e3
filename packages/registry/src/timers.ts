import { setTimeout } from 'node:timers/promises'
import { Type, type TInteger } from '@sinclair/typebox'

/** Milliseconds: the longest time that a timer of Node.js takes; with a longer one it would fire at once. */
export const MAX_TIMER = 2_147_483_647

/** The schema of an option that is a time: whole milliseconds that a timer takes, 1 at least where nothing else is said. */
export function millisecondsSchema(description: string, minimum = 1): TInteger {
  return Type.Integer({ minimum, maximum: MAX_TIMER, description })
}

/** Waits until a time, in milliseconds since the epoch, however far away. @throws the signal's reason when it aborts first */
export async function sleepUntil(time: number, signal?: AbortSignal): Promise<void> {
  for (let left = time - Date.now(); left > 0; left = time - Date.now()) {
    try {
      await setTimeout(Math.min(left, MAX_TIMER), undefined, { signal })
    } catch (err) {
      signal?.throwIfAborted()
      throw err
    }
  }
}

/** Waits for something, but not longer than so many milliseconds. */
export async function within(ms: number, done: Promise<unknown>): Promise<void> {
  const timeout = new AbortController()
  try {
    await Promise.race([done, setTimeout(ms, undefined, { signal: timeout.signal })])
  } finally {
    timeout.abort()
  }
}
