import type { Runnable } from '@svc/contract'

// One per process, even if several copies of the package are installed.
const ORIGINS = Symbol.for('@svc/registry/origins')
const holder = globalThis as { [ORIGINS]?: WeakMap<object, object> }
const origins = (holder[ORIGINS] ??= new WeakMap<object, object>())

/** Records that a runnable was made from another, or from a definition; `originOf` returns the same for both. */
export function withOrigin<R extends object>(made: R, from: object): R {
  origins.set(made, originOf(from))
  return made
}

/** The app's own object that a runnable was made from: a definition, or the runnable itself. */
export function originOf(runnable: object): object {
  return origins.get(runnable) ?? runnable
}

/** True if two runnables were made from the same runnable or definition of the app. */
export function isSame(one: Runnable, other: Runnable): boolean {
  return originOf(one) === originOf(other)
}
