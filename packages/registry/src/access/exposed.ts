import {
  RUNNABLE_KINDS,
  type Runnable,
  type RunnableKey,
  type RunnableKind,
  type RunScope
} from '@svc/contract'
import { createRegistry, type Registry } from '../registry.ts'
import type { SurfacePolicy } from './policy.ts'
import type { SurfaceOptions, SurfaceStartOptions } from './surface-options.ts'

/** The parts of `Exposures` that one surface needs. */
export interface AllSurfaces {
  /** The id that a registry has in this app. */
  idOf(registry: Registry): string
  /** The home of a runnable that this surface names. */
  homeOf(runnable: Runnable, surface: Exposed): Home
  /** True if only another registry or surface has this runnable. */
  isForeign(key: RunnableKey, registry: Registry): boolean
  /** The keys of all foreign runnables with the registry's id. */
  foreignKeys(registry: Registry): RunnableKey[]
  /** True if any surface authenticates its callers. */
  readonly hasUsers: boolean
}

/** The registry id of a named runnable's runs, and the registry that has the runnable, if any. */
export interface Home {
  readonly id: string
  readonly registry: Registry | undefined
}

/** A runnable about to be added to a registry, where it may replace another. */
export interface AddedRunnable {
  readonly registry: Registry
  readonly runnable: Runnable
}

interface Named {
  readonly runnable: Runnable
  readonly key: RunnableKey
  readonly registry: Registry | undefined
  readonly start: SurfaceStartOptions
}

/** The runnables that a surface exposes: the named ones, then those of its registry, looked up for every request. */
export class Exposed {
  readonly surface: string
  readonly registry: Registry | false
  readonly policy: SurfacePolicy | undefined
  /** The named ones in order, including removed ones, whose runs still belong to the surface. */
  readonly given: readonly Runnable[]
  readonly #all: AllSurfaces
  readonly #kinds: readonly RunnableKind[]
  readonly #named = createRegistry()
  #byName: ReadonlyMap<string, Named> | undefined
  #registeredStart: SurfaceStartOptions | undefined

  constructor(all: AllSurfaces, options: SurfaceOptions) {
    const { surface, registry, kinds = RUNNABLE_KINDS, named = [], policy } = options
    this.#all = all
    this.surface = surface
    this.registry = registry
    this.policy = policy
    this.given = named
    this.#kinds = kinds
    for (const runnable of named) this.#named.add(runnable)
  }

  get(kind: RunnableKind, name: string): Runnable | undefined {
    return this.#named.get(kind, name) ?? this.#getRegistered(kind, name)
  }

  /** True if users of the app are authenticated, by this surface or another one. */
  get hasUsers(): boolean {
    return this.#all.hasUsers
  }

  /** Lists one kind, or all: the named ones in the given order, then those of the registry. */
  list(kind?: RunnableKind): Runnable[] {
    const isNamed = (each: Runnable) => this.#named.get(each.kind, each.name) !== undefined
    const named = this.given.filter((each) => isNamed(each) && (kind === undefined || each.kind === kind))
    const others = this.registry === false ? [] : this.registry.list(kind)
    return [...named, ...others.filter((each) => !isNamed(each) && this.#kinds.includes(each.kind))]
  }

  /** True if it was exposed. */
  remove(kind: RunnableKind, name: string): boolean {
    const isRegistered = this.#getRegistered(kind, name) !== undefined
    if (this.registry !== false && isRegistered) this.registry.remove(kind, name)
    return this.#named.remove(kind, name) || isRegistered
  }

  /** Calls the listener after each change; returns undefined if the registry reports no changes. */
  onChange(listener: () => unknown): (() => void) | undefined {
    const off = this.#named.on('change', listener)
    if (this.registry === false) return off
    const offToo = (this.registry as Partial<Registry>).on?.('change', listener)
    return offToo && (() => [off, offToo].forEach((each) => each()))
  }

  /** The start options of a run of one of these runnables. */
  startOptions(runnable: Runnable): SurfaceStartOptions {
    const named = this.#find(runnable)
    return named?.runnable === runnable ? named.start : this.#registered!
  }

  /** Registries have other ids than before, which nothing has used yet. */
  forgetIds(): void {
    this.#byName = undefined
    this.#registeredStart = undefined
  }

  /**
   * True if a run belongs to this surface: it is of a named runnable, or has the registry's id, unless only others have its
   * runnable. The runnable need not be registered now.
   */
  shows(run: RunnableKey): boolean {
    const { registry, kind, name } = run
    if (this.#find(run)?.key.registry === registry) return true
    if (this.registry === false || this.#all.idOf(this.registry) !== registry || !this.#kinds.includes(kind))
      return false
    return this.registry.get(kind, name) !== undefined || !this.#all.isForeign(run, this.registry)
  }

  /** The scope of lists: the runs that `shows` accepts. */
  scope(): RunScope {
    const runnables = this.keys()
    if (this.registry === false || this.#kinds.length === 0) return { runnables }
    const except = this.#all.foreignKeys(this.registry)
    return { runnables, registry: { id: this.#all.idOf(this.registry), kinds: this.#kinds, except } }
  }

  /** The ids of the registries that the surface's runs belong to. */
  registries(): string[] {
    const ids = this.keys().map(({ registry }) => registry)
    return [...new Set(this.#registered === undefined ? ids : [this.#registered.registry, ...ids])]
  }

  /** The keys of the named ones, except those that the registry `besides` has. */
  keys(besides?: Registry): RunnableKey[] {
    const all = [...this.#names.values()]
    return all.filter(({ registry }) => besides === undefined || registry !== besides).map(({ key }) => key)
  }

  /** True if the surface names a runnable of this kind and name. */
  names({ kind, name }: RunnableKey): boolean {
    return this.#named.get(kind, name) !== undefined
  }

  /** The runnable with this key that a look-up finds here, as if `added` were in its registry already. */
  find(key: RunnableKey, added?: AddedRunnable): Runnable | undefined {
    const { registry, kind, name } = key
    const named = this.#named.get(kind, name)
    if (named !== undefined) return this.#find(key)?.key.registry === registry ? named : undefined
    if (this.registry === false || this.#all.idOf(this.registry) !== registry) return undefined
    return added?.registry === this.registry ? added.runnable : this.#getRegistered(kind, name)
  }

  #getRegistered(kind: RunnableKind, name: string): Runnable | undefined {
    if (this.registry === false || !this.#kinds.includes(kind)) return undefined
    return this.registry.get(kind, name)
  }

  #find({ kind, name }: Pick<RunnableKey, 'kind' | 'name'>): Named | undefined {
    return this.given.length === 0 ? undefined : this.#names.get(`${kind}/${name}`)
  }

  // Resolved once, when all surfaces exist; later changes of the registries do not move the runs.
  get #names(): ReadonlyMap<string, Named> {
    return (this.#byName ??= new Map(
      this.given.map((runnable) => {
        const { kind, name } = runnable
        const { id, registry } = this.#all.homeOf(runnable, this)
        const key = { registry: id, kind, name }
        return [`${kind}/${name}`, { runnable, key, registry, start: this.#startIn(id) }]
      })
    ))
  }

  get #registered(): SurfaceStartOptions | undefined {
    if (this.registry === false) return undefined
    return (this.#registeredStart ??= this.#startIn(this.#all.idOf(this.registry)))
  }

  #startIn(registry: string): SurfaceStartOptions {
    return { registry, surface: this.surface, authorize: this.policy?.authorize }
  }
}
