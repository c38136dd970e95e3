import { setTimeout as pause } from 'node:timers/promises'
import { Type, type TInteger } from '@sinclair/typebox'

/** A value, or a promise of one. A synchronous value costs no turn of the event loop. */
export type Awaitable<T> = T | Promise<T>

/** True if a value must be awaited. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}

/** Calls `use` with a value: at once, unless it must be awaited. */
export function andThen<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(value) ? value.then(use) : use(value)
}

/** The longest delay of a Node.js timer in milliseconds; longer ones fire immediately. */
export const MAX_TIMER = 2_147_483_647

/** The schema of an option in whole milliseconds, within the range of a timer. */
export function millisecondsSchema(description: string, minimum = 1): TInteger {
  return Type.Integer({ minimum, maximum: MAX_TIMER, description })
}

/** The pauses between attempts, in milliseconds. */
export interface Backoff {
  /** The longest pause after the first failure; it doubles with each failure. */
  readonly baseDelay: number
  readonly maxDelay: number
  /** The share of a pause that is not jitter, from 0 to 1; default 0, which is full jitter. */
  readonly steadiness?: number | undefined
}

/** Milliseconds to wait after `failures` in a row: exponential, with jitter. */
export function backoffDelay(
  failures: number,
  { baseDelay, maxDelay, steadiness = 0 }: Backoff,
  random = Math.random
): number {
  const longest = Math.min(maxDelay, baseDelay * 2 ** (failures - 1))
  return longest * (steadiness + random() * (1 - steadiness))
}

/** The time, in milliseconds since the epoch, on which all processes that share these stores agree. */
export function timeOf({ lease }: { readonly lease?: { now(): number } | undefined }): number {
  return lease?.now() ?? Date.now()
}

/**
 * Waits until a time, in milliseconds since the epoch, however far away.
 * @param now the clock; default `Date.now`
 * @throws the signal's reason if it aborts first
 */
export async function sleepUntil(time: number, signal?: AbortSignal, now = Date.now): Promise<void> {
  for (let left = time - now(); left > 0; left = time - now()) {
    try {
      await pause(Math.min(left, MAX_TIMER), undefined, { signal })
    } catch (err) {
      signal?.throwIfAborted()
      throw err
    }
  }
}

/** Waits for a promise, for `ms` milliseconds at most; undefined if it settles later. */
export function within<T>(ms: number, done: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, undefined)
    done.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Settles like `work()`, or rejects with the signal's reason if it aborts first. Does not start on an aborted signal. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => T): Promise<Awaited<T>> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Settles like `work`, or rejects with the error that `late` makes after `ms` milliseconds. */
export async function unlessLate<T>(ms: number, late: () => Error, work: Awaitable<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
