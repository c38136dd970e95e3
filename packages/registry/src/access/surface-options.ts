import type { RunnableKind } from '../contract/names.ts'
import type { Authorize } from '../contract/principal.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { Registry } from '../registry.ts'
import type { SurfacePolicy } from './policy.ts'

/** The description of a surface for the run engine. */
export interface SurfaceOptions {
  /** Its name, stable across restarts: `@svc/http prefix "/api"`. */
  readonly surface: string
  /** The registry it looks up runnables in; `false`: none. */
  readonly registry: Registry | false
  /** The kinds of the registry's runnables that it exposes; default: all. */
  readonly kinds?: readonly RunnableKind[]
  /** Its own runnables, which are looked up first. */
  readonly named?: readonly Runnable[] | undefined
  /** Default: the app's, if it has one. */
  readonly policy?: SurfacePolicy | undefined
}

/** The start options of every run of a surface's runnable. */
export interface SurfaceStartOptions {
  readonly registry: string
  readonly surface: string
  readonly authorize: Authorize | undefined
}
