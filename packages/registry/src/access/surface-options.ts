import type { RunnableKind } from '../contract/names.ts'
import type { Authorize } from '../contract/principal.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { Registry } from '../registry.ts'
import type { SurfacePolicy } from './policy.ts'

/** What a surface tells the run engine of itself. */
export interface SurfaceOptions {
  /** What it is called, the same after every restart: `@svc/http prefix "/api"`. */
  readonly surface: string
  /** Where it looks up runnables; `false`: nowhere. */
  readonly registry: Registry | false
  /** What of the registry it exposes; default: every kind. */
  readonly kinds?: readonly RunnableKind[]
  /** Runnables that it is given itself; they are looked up first. */
  readonly named?: readonly Runnable[] | undefined
  /** Default: the app's, if it has one. */
  readonly policy?: SurfacePolicy | undefined
}

/** What a surface starts every run of a runnable with. */
export interface SurfaceStartOptions {
  readonly registry: string
  readonly surface: string
  readonly authorize: Authorize | undefined
}
