/** A value, or a promise of one. A synchronous value costs no turn of the event loop. */
export type Awaitable<T> = T | Promise<T>

/** True if a value must be awaited. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
