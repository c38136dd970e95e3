import { GLOBAL_REGISTRY, NO_REGISTRY, type RunnableKey } from '../contract/names.ts'
import type { Runnable } from '../contract/runnable.ts'
import { REG_ERR_ID_SHARED } from '../errors.ts'
import type { Registry } from '../registry.ts'
import { Exposed, type AddedRunnable, type AllSurfaces, type Home } from './exposed.ts'
import { idOf, registryOf } from './registry-of.ts'
import { resolvePolicy, type AppPolicy, type SurfacePolicy } from './policy.ts'
import type { SurfaceOptions } from './surface-options.ts'
import { isSame } from '../runnables/runnable-identity.ts'

/** A runnable that is exposed somewhere, and the id that its runs have. */
export interface ExposedRunnable {
  readonly registry: string
  readonly runnable: Runnable
}

/** What is told of the changes of what is exposed. */
export interface ExposureListeners {
  added(exposed: ExposedRunnable): unknown
  removed(exposed: ExposedRunnable): unknown
}

/** What all surfaces of an engine expose. The app's own registry counts as the first. */
export class Exposures implements AllSurfaces {
  readonly #surfaces: Exposed[] = []
  /** The default of all surfaces. */
  readonly policy: AppPolicy

  constructor(policy: AppPolicy = {}) {
    this.policy = policy
  }

  /** Takes what a surface exposes, before the app is ready. */
  add(options: SurfaceOptions): Exposed {
    const { surface } = options
    const count = this.#surfaces.filter((each) => each.surface.startsWith(surface)).length
    const name = count === 0 ? surface : `${surface} (${count + 1})`
    const policy = options.policy ?? this.#appPolicy
    const exposed = new Exposed(this, { ...options, surface: name, policy })
    this.#surfaces.push(exposed)
    return exposed
  }

  /** Every runnable that is exposed or in a registry: whose runs go on after a restart. */
  list(): ExposedRunnable[] {
    return this.#all().filter((each) => !this.#isHidden(each))
  }

  /** The policy of a surface; undefined if it has none or is gone. */
  policyOf(surface: string): SurfacePolicy | undefined {
    return this.#surfaces.find((each) => each.surface === surface)?.policy
  }

  /** The id for runs of a runnable that the app starts itself. */
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

  isForeign(key: RunnableKey, registry: Registry): boolean {
    return this.foreignKeys(registry).some(({ kind, name }) => kind === key.kind && name === key.name)
  }

  foreignKeys(registry: Registry): RunnableKey[] {
    const id = idOf(registry)
    const named = this.#surfaces
      .flatMap((surface) => surface.keys(registry))
      .filter((key) => key.registry === id)
    const others = this.#registries().filter((other) => other !== registry && idOf(other) === id)
    const registered = others.flatMap((other) =>
      other.list().map((each) => keyOf({ registry: id, runnable: each }))
    )
    return [...named, ...registered].filter(({ kind, name }) => registry.get(kind, name) === undefined)
  }

  /** Makes sure that each key is one runnable's. @throws REG_ERR_ID_SHARED */
  requireDistinct(): void {
    for (const each of this.#all()) this.#requireOne(keyOf(each))
  }

  /**
   * Calls a listener with each runnable that comes or is exposed nowhere any more, until the returned function is called. One
   * whose key another has is refused.
   */
  watch(listeners: ExposureListeners): () => void {
    const offs = this.#registries().flatMap((registry) => {
      const id = idOf(registry)
      // One that the app wrote itself need not have more than `get` and `list`.
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
      registry.list().map((runnable) => ({ registry: idOf(registry), runnable }))
    )
    return [...named, ...registered]
  }

  #requireOne(key: RunnableKey, added?: AddedRunnable): void {
    const [first, ...others] = this.#finding(key, added)
    const second = others.find(({ runnable }) => !isSame(runnable, first!.runnable))
    if (first !== undefined && second !== undefined)
      throw new REG_ERR_ID_SHARED(key.kind, key.name, key.registry, first.surface, second.surface)
  }

  // What is named takes the place of its namesake in the registry of the surface, and of the app where that is the same.
  #finding(key: RunnableKey, added?: AddedRunnable): { surface: string; runnable: Runnable }[] {
    const [app, ...others] = this.#surfaces
    const isReplaced = others.some((each) => each.registry === app?.registry && each.names(key))
    return (isReplaced ? others : this.#surfaces).flatMap((each) => {
      const runnable = each.find(key, added)
      return runnable === undefined ? [] : [{ surface: each.surface, runnable }]
    })
  }

  // Whether look-ups find another in its place.
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

  // Where a surface has no registry, its runnables count as the app's.
  #idOfHome(registry: Registry | false): string {
    const home = registry === false ? this.#registries()[0] : registry
    return home === undefined ? GLOBAL_REGISTRY : idOf(home)
  }
}

function keyOf({ registry, runnable: { kind, name } }: ExposedRunnable): RunnableKey {
  return { registry, kind, name }
}
