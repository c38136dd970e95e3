import { Type, type Static } from '@sinclair/typebox'
import {
  GLOBAL_REGISTRY,
  NO_REGISTRY,
  REG_ERR_ID_SHARED,
  RUNNABLE_KINDS,
  type Authorize,
  type Runnable,
  type RunnableKey,
  type RunnableKind,
  type RunScope
} from '@svc/contract'
import { createRegistry, type Registry } from '../registry.ts'
import { resolvePolicy, type AppPolicy, type SurfacePolicy } from './policy.ts'
import { isSame } from '../runnables/define-runnable.ts'

/** A protocol that an app serves its runnables by. Paths are those of the app, from its root. */
export const WireSchema = Type.Object(
  {
    name: Type.String({
      description:
        'The protocol: `http`, `socket.io`, `a2a`, `mcp`, `ag-ui`, `ui-stream`, `openai` or `realtime`'
    }),
    path: Type.String({ description: 'Where its clients begin' }),
    document: Type.Optional(
      Type.String({ description: 'The path of what describes it: OpenAPI, AsyncAPI or an agent card' })
    )
  },
  { title: 'Wire' }
)
type Wire = Readonly<Static<typeof WireSchema>>

/** The description of a surface for the run engine. */
interface SurfaceOptions {
  /** Its name, stable across restarts: `@svc/http prefix "/api"`. */
  readonly surface: string
  /** The registry it looks up runnables in; `false`: none. */
  readonly registry: Registry | false
  /** The kinds of the registry's runnables that it exposes; default: all. */
  readonly kinds?: readonly RunnableKind[]
  /** Its own runnables, which are looked up first. */
  readonly named?: readonly Runnable[] | undefined
  /** The protocol that it serves them by; none for the app itself. */
  readonly wire?: Wire | undefined
  /** Default: the app's, if it has one. */
  readonly policy?: SurfacePolicy | undefined
}

/** The start options of every run of a surface's runnable. */
interface SurfaceStartOptions {
  readonly registry: string
  readonly surface: string
  readonly authorize: Authorize | undefined
}

/** The parts of `Exposures` that one surface needs. */
interface AllSurfaces {
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
interface Home {
  readonly id: string
  readonly registry: Registry | undefined
}

/** A runnable about to be added to a registry, where it may replace another. */
interface AddedRunnable {
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

/** An exposed runnable, and the registry id of its runs. */
export interface ExposedRunnable {
  readonly registry: string
  readonly runnable: Runnable
}

/** Listeners for changes of the exposed runnables. */
interface ExposureListeners {
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
