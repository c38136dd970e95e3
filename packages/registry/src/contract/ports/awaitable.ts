/** A value, or the promise of one: what is at hand at once costs no turn of the event loop. */
export type Awaitable<T> = T | Promise<T>

/** Whether a value must be waited for. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
