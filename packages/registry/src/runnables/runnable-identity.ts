import type { Runnable } from '../contract/runnable.ts'

// One a process, however many copies of the package are installed.
const ORIGINS = Symbol.for('@svc/registry/origins')
const holder = globalThis as { [ORIGINS]?: WeakMap<object, object> }
const origins = (holder[ORIGINS] ??= new WeakMap<object, object>())

/** Notes that a runnable was made from another, or from a definition: they are the same to `originOf`. */
export function withOrigin<R extends object>(made: R, from: object): R {
  origins.set(made, originOf(from))
  return made
}

/** What the app wrote: a definition, or a runnable that was made from none. */
export function originOf(runnable: object): object {
  return origins.get(runnable) ?? runnable
}

/** True if two runnables were made from the same runnable or definition of the app. */
export function isSame(one: Runnable, other: Runnable): boolean {
  return originOf(one) === originOf(other)
}
