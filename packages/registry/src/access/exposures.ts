import {
  GLOBAL_REGISTRY,
  NO_REGISTRY,
  REG_ERR_ID_SHARED,
  type Runnable,
  type RunnableKey
} from '@svc/contract'
import type { Registry } from '../registry.ts'
import { Exposed, type AddedRunnable, type AllSurfaces, type Home } from './exposed.ts'
import { resolvePolicy, type AppPolicy, type SurfacePolicy } from './policy.ts'
import type { SurfaceOptions, Wire } from './surface-options.ts'
import { isSame } from '../runnables/define-runnable.ts'

/** An exposed runnable, and the registry id of its runs. */
export interface ExposedRunnable {
  readonly registry: string
  readonly runnable: Runnable
}

/** Listeners for changes of the exposed runnables. */
export interface ExposureListeners {
  added(exposed: ExposedRunnable): unknown
  removed(exposed: ExposedRunnable): unknown
}

/** The runnables that all surfaces of an engine expose. The app's own registry counts as the first surface. */
export class Exposures implements AllSurfaces {
  readonly #surfaces: Exposed[] = []
  readonly #wires: Wire[] = []
  readonly #derivedIds = new Map<Registry, string>()
  /** The default of all surfaces. */
  readonly policy: AppPolicy

  constructor(policy: AppPolicy = {}) {
    this.policy = policy
  }

  /** Adds a surface, before the app is ready. */
  add(options: SurfaceOptions): Exposed {
    const { surface } = options
    const count = this.#surfaces.filter((each) => each.surface.startsWith(surface)).length
    const name = count === 0 ? surface : `${surface} (${count + 1})`
    const policy = options.policy ?? this.#appPolicy
    const exposed = new Exposed(this, { ...options, surface: name, policy })
    this.#surfaces.push(exposed)
    if (options.wire !== undefined) this.#wires.push(options.wire)
    return exposed
  }

  /** Lists every runnable that is exposed or registered; their runs are resumed after a restart. */
  list(): ExposedRunnable[] {
    return this.#all().filter((each) => !this.#isHidden(each))
  }

  /** The protocols that surfaces serve, in the order of their registration. */
  get wires(): readonly Wire[] {
    return this.#wires
  }

  /** The policy of a surface; undefined if it has none or is gone. */
  policyOf(surface: string): SurfacePolicy | undefined {
    return this.#surfaces.find((each) => each.surface === surface)?.policy
  }

  /** The registry id of runs that the app itself starts. */
  registryOf(runnable: Runnable): string {
    if (this.#surfaces.length === 0) return GLOBAL_REGISTRY
    const home = registryOf(runnable, this.#registries()) ?? this.#namerOf(runnable)?.registry
    if (home === undefined) return NO_REGISTRY
    const registry = this.#idOfHome(home)
    return this.#isHidden({ registry, runnable }) ? NO_REGISTRY : registry
  }

  homeOf(runnable: Runnable, { registry: own }: Exposed): Home {
    const others = this.#registries()
    const registry = registryOf(runnable, own === false ? others : [own, ...others])
    return { id: this.#idOfHome(registry ?? this.#namerOf(runnable)!.registry), registry }
  }

  get hasUsers(): boolean {
    return this.#surfaces.some(({ policy }) => policy?.authenticate !== undefined)
  }

  isForeign(key: RunnableKey, registry: Registry): boolean {
    return this.foreignKeys(registry).some(({ kind, name }) => kind === key.kind && name === key.name)
  }

  foreignKeys(registry: Registry): RunnableKey[] {
    const id = this.idOf(registry)
    const named = this.#surfaces
      .flatMap((surface) => surface.keys(registry))
      .filter((key) => key.registry === id)
    const others = this.#registries().filter((other) => other !== registry && this.idOf(other) === id)
    const registered = others.flatMap((other) =>
      other.list().map((each) => keyOf({ registry: id, runnable: each }))
    )
    return [...named, ...registered].filter(({ kind, name }) => registry.get(kind, name) === undefined)
  }

  idOf(registry: Registry): string {
    return this.#derivedIds.get(registry) ?? idOf(registry)
  }

  /**
   * Gives a registry without an id of its own another one than an earlier registry with a runnable of the same kind and name. Only where
   * nothing outlasts the process, since such an id depends on the order of registration.
   */
  deriveIds(): void {
    const nameless = this.#registries().filter((registry) => idOf(registry) === GLOBAL_REGISTRY)
    for (const [index, registry] of nameless.entries()) {
      const earlier = nameless.slice(0, index)
      const isShared = registry.list().some((each) =>
        earlier.some((other) => {
          const namesake = other.get(each.kind, each.name)
          return namesake !== undefined && !isSame(namesake, each)
        })
      )
      if (isShared) this.#derivedIds.set(registry, `${GLOBAL_REGISTRY}~${index + 1}`)
    }
    if (this.#derivedIds.size > 0) for (const surface of this.#surfaces) surface.forgetIds()
  }

  /** Checks that no two runnables share a key. @throws REG_ERR_ID_SHARED */
  requireDistinct(): void {
    for (const each of this.#all()) this.#requireOne(keyOf(each))
  }

  /**
   * Calls a listener for each runnable that is added or no longer exposed, until the returned function is called. Refuses a
   * runnable whose key another one has.
   */
  watch(listeners: ExposureListeners): () => void {
    const offs = this.#registries().flatMap((registry) => {
      const id = this.idOf(registry)
      // A registry that the app implements may have `get` and `list` only.
      const given: Partial<Registry> = registry
      return [
        given.guard?.((runnable) =>
          this.#requireOne(keyOf({ registry: id, runnable }), { registry, runnable })
        ),
        given.on?.('change', ({ type, runnable }) => {
          const changed = { registry: id, runnable }
          if (type !== 'remove') return this.#isHidden(changed) ? undefined : listeners.added(changed)
          return this.#finding(keyOf(changed)).length > 0 ? undefined : listeners.removed(changed)
        })
      ]
    })
    return () => offs.forEach((off) => off?.())
  }

  get #appPolicy(): SurfacePolicy | undefined {
    return this.policy.authorize && resolvePolicy({}, this.policy)
  }

  #all(): ExposedRunnable[] {
    const named = this.#surfaces.flatMap((surface) =>
      surface.keys().flatMap((key) => {
        const runnable = surface.find(key)
        return runnable === undefined ? [] : [{ registry: key.registry, runnable }]
      })
    )
    const registered = this.#registries().flatMap((registry) =>
      registry.list().map((runnable) => ({ registry: this.idOf(registry), runnable }))
    )
    return [...named, ...registered]
  }

  #requireOne(key: RunnableKey, added?: AddedRunnable): void {
    const [first, ...others] = this.#finding(key, added)
    const second = others.find(({ runnable }) => !isSame(runnable, first!.runnable))
    if (first !== undefined && second !== undefined)
      throw new REG_ERR_ID_SHARED(key.kind, key.name, key.registry, first.surface, second.surface)
  }

  // A named runnable replaces its namesake in the surface's registry, and in the app's if they are the same.
  #finding(key: RunnableKey, added?: AddedRunnable): { surface: string; runnable: Runnable }[] {
    const [app, ...others] = this.#surfaces
    const isReplaced = others.some((each) => each.registry === app?.registry && each.names(key))
    return (isReplaced ? others : this.#surfaces).flatMap((each) => {
      const runnable = each.find(key, added)
      return runnable === undefined ? [] : [{ surface: each.surface, runnable }]
    })
  }

  // True if look-ups find another runnable with its key.
  #isHidden(exposed: ExposedRunnable): boolean {
    return this.#finding(keyOf(exposed)).some(({ runnable }) => !isSame(runnable, exposed.runnable))
  }

  #registries(): Registry[] {
    const all = this.#surfaces.map(({ registry }) => registry)
    return [...new Set(all)].filter((registry) => registry !== false)
  }

  #namerOf(runnable: Runnable): Exposed | undefined {
    return this.#surfaces.find(({ given }) => given.some((each) => isSame(each, runnable)))
  }

  // The runnables of a surface without a registry count as the app's.
  #idOfHome(registry: Registry | false): string {
    const home = registry === false ? this.#registries()[0] : registry
    return home === undefined ? GLOBAL_REGISTRY : this.idOf(home)
  }
}

function keyOf({ registry, runnable: { kind, name } }: ExposedRunnable): RunnableKey {
  return { registry, kind, name }
}

/** The id of a registry; a registry that the app implements may have none. */
function idOf(registry: Registry): string {
  return (registry as Partial<Registry>).id ?? GLOBAL_REGISTRY
}

/** The first registry that has a runnable, under any name. */
function registryOf(runnable: Runnable, registries: Iterable<Registry>): Registry | undefined {
  for (const registry of registries) if (has(registry, runnable)) return registry
  return undefined
}

function has(registry: Registry, runnable: Runnable): boolean {
  const { kind, name } = runnable
  const namesake = registry.get(kind, name)
  if (namesake !== undefined && isSame(namesake, runnable)) return true
  return registry.list(kind).some((each) => isSame(each, runnable))
}
