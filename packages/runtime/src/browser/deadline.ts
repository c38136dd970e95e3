import { setTimeout as pause } from 'node:timers/promises'

/** What `withinTime` resolves with when the time is over. */
export const LATE: unique symbol = Symbol('late')

/** Settles like `work`, or resolves with `LATE` after `ms` milliseconds. */
export async function withinTime<T>(work: Promise<T>, ms: number): Promise<T | typeof LATE> {
  const timer = new AbortController()
  const expired = pause(ms, LATE, { signal: timer.signal })
  // Aborted below.
  expired.catch(() => undefined)
  try {
    return await Promise.race([work, expired])
  } finally {
    timer.abort()
  }
}
