import { Type, type Static } from '@sinclair/typebox'
import {
  createScopeFilter,
  GLOBAL_REGISTRY,
  NO_REGISTRY,
  RUNNABLE_KINDS,
  type Authorize,
  type Awaitable,
  type Runnable,
  type RunnableKey,
  type RunnableKind,
  type RunScope
} from '@svc/contract'
import { REG_ERR_ID_SHARED } from '@svc/contract/errors'
import { createRegistry, type Registry } from '../registry.ts'
import { resolvePolicy, type AppPolicy, type SurfacePolicy } from './policy.ts'
import type { SharedOptions } from './shared-options.ts'
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

/** An exposed runnable, and the registry id of its runs. */
export interface ExposedRunnable {
  readonly registry: string
  readonly runnable: Runnable
}

/** The same, and the registry that has it; a surface may name one that none has. */
interface KeyedRunnable extends ExposedRunnable {
  readonly home: Registry | undefined
}

/** A runnable that a surface names itself. */
interface NamedRunnable extends KeyedRunnable {
  readonly start: SurfaceStartOptions
}

/** A runnable about to be added to a registry, where it may replace another. */
interface AddedRunnable {
  readonly registry: Registry
  readonly runnable: Runnable
}

/** The runnables that a surface exposes: the named ones, then those of its registry, looked up for every request. */
export class Exposed {
  readonly surface: string
  readonly registry: Registry | false
  readonly policy: SurfacePolicy | undefined
  /** The named ones in order, including removed ones, whose runs still belong to the surface. */
  readonly given: readonly Runnable[]
  readonly #all: Surfaces
  readonly #kinds: readonly RunnableKind[]
  readonly #present = createRegistry()
  #named: ReadonlyMap<Runnable, NamedRunnable> | undefined
  #start: SurfaceStartOptions | undefined

  constructor(
    all: Surfaces,
    { surface, registry, kinds = RUNNABLE_KINDS, named = [], policy }: SurfaceOptions
  ) {
    this.#all = all
    this.surface = surface
    this.registry = registry
    this.policy = policy
    this.#kinds = kinds
    this.given = named.map((runnable) => this.#present.add(runnable))
  }

  /**
   * Looks a runnable up, of one kind or of the first that has the name. All wires, schedules and recovery do so here: a registered name
   * is found without a promise.
   */
  find(kinds: RunnableKind | readonly RunnableKind[], name: string): Awaitable<Runnable | undefined> {
    for (const kind of typeof kinds === 'string' ? [kinds] : kinds) {
      const found = this.#present.get(kind, name) ?? this.#registered(kind, name)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** True if users of the app are authenticated, by this surface or another one. */
  get hasUsers(): boolean {
    return this.#all.hasUsers
  }

  /** Lists one kind, or all: the named ones in the given order, then those of the registry. */
  list(kind?: RunnableKind): Runnable[] {
    const all = this.given.filter((each) => this.names(each) && (kind === undefined || each.kind === kind))
    if (this.registry !== false)
      for (const each of this.registry.list(kind))
        if (!this.names(each) && this.#kinds.includes(each.kind)) all.push(each)
    return all
  }

  /** True if it was exposed. */
  remove(kind: RunnableKind, name: string): boolean {
    const isRegistered = this.#registered(kind, name) !== undefined
    if (this.registry !== false && isRegistered) this.registry.remove(kind, name)
    return this.#present.remove(kind, name) || isRegistered
  }

  /** Calls the listener after each change; returns undefined if the registry reports no changes. */
  onChange(listener: () => unknown): (() => void) | undefined {
    const off = this.#present.on('change', listener)
    if (this.registry === false) return off
    const offToo = (this.registry as Partial<Registry>).on?.('change', listener)
    return offToo && (() => [off, offToo].forEach((each) => each()))
  }

  /** The start options of a run of one of these runnables. */
  startOptions(runnable: Runnable): SurfaceStartOptions {
    return this.#keyed.get(runnable)?.start ?? (this.#start ??= this.#startIn(this.#registryId!))
  }

  /**
   * True if a run belongs to this surface: it is of a named runnable, or has the registry's id, unless only others have its
   * runnable. The runnable need not be registered now.
   */
  shows(run: RunnableKey): boolean {
    return this.at(run) !== undefined || createScopeFilter(this.scope())(run)
  }

  /** The scope of lists: the runs that `shows` accepts. */
  scope(): RunScope {
    const runnables = this.named.map(keyOf)
    if (this.registry === false || this.#kinds.length === 0) return { runnables }
    const except = this.#all.foreignKeys(this.registry)
    return { runnables, registry: { id: this.#registryId!, kinds: this.#kinds, except } }
  }

  /** The ids of the registries that the surface's runs belong to. */
  registries(): string[] {
    const ids = this.named.map(({ registry }) => registry)
    return [...new Set(this.#registryId === undefined ? ids : [this.#registryId, ...ids])]
  }

  /** The given ones, with their keys. */
  get named(): readonly NamedRunnable[] {
    return [...this.#keyed.values()]
  }

  /** True if the surface names a runnable of this kind and name. */
  names({ kind, name }: Pick<RunnableKey, 'kind' | 'name'>): boolean {
    return this.#present.get(kind, name) !== undefined
  }

  /** The runnable with this key that a look-up finds here, as if `added` were in its registry already. */
  at({ registry, kind, name }: RunnableKey, added?: AddedRunnable): Runnable | undefined {
    const named = this.#present.get(kind, name)
    if (named !== undefined) return this.#keyed.get(named)?.registry === registry ? named : undefined
    if (this.registry === false || this.#registryId !== registry) return undefined
    return added?.registry === this.registry ? added.runnable : this.#registered(kind, name)
  }

  /** Registries have other ids than before, which nothing has used yet. */
  forgetIds(): void {
    this.#named = undefined
    this.#start = undefined
  }

  #registered(kind: RunnableKind, name: string): Runnable | undefined {
    return this.registry !== false && this.#kinds.includes(kind) ? this.registry.get(kind, name) : undefined
  }

  get #registryId(): string | undefined {
    return this.registry === false ? undefined : this.#all.idOf(this.registry)
  }

  // Resolved once, when all surfaces exist: later changes of the registries do not move the runs.
  get #keyed(): ReadonlyMap<Runnable, NamedRunnable> {
    return (this.#named ??= new Map(
      this.given.map((runnable) => {
        const { id: registry, home } = this.#all.homeOf(runnable, this.registry)!
        return [runnable, { registry, runnable, home, start: this.#startIn(registry) }]
      })
    ))
  }

  #startIn(registry: string): SurfaceStartOptions {
    return { registry, surface: this.surface, authorize: this.policy?.authorize }
  }
}

/** Listeners for changes of the exposed runnables. */
interface ExposureListeners {
  added(exposed: ExposedRunnable): unknown
  removed(exposed: ExposedRunnable): unknown
}

/** All surfaces of an engine, and the keys of the runnables that they expose. The app's own registry counts as the first surface. */
export class Surfaces {
  /** The default of all surfaces. */
  readonly policy: AppPolicy
  /** The options that surfaces may leave to the engine. */
  readonly shared: SharedOptions
  readonly #surfaces: Exposed[] = []
  readonly #wires: Wire[] = []
  readonly #derivedIds = new Map<Registry, string>()

  constructor(policy: AppPolicy = {}, shared: SharedOptions = {}) {
    this.policy = policy
    this.shared = shared
  }

  /** Adds a surface, before the app is ready. */
  add(options: SurfaceOptions): Exposed {
    const { surface, wire } = options
    const count = this.#surfaces.filter((each) => each.surface.startsWith(surface)).length
    const name = count === 0 ? surface : `${surface} (${count + 1})`
    const policy = options.policy ?? (this.policy.authorize && resolvePolicy({}, this.policy))
    const exposed = new Exposed(this, { ...options, surface: name, policy })
    this.#surfaces.push(exposed)
    if (wire !== undefined) this.#wires.push(wire)
    return exposed
  }

  /** The protocols that surfaces serve, in the order of their registration. */
  get wires(): readonly Wire[] {
    return this.#wires
  }

  /** True if any surface authenticates its callers. */
  get hasUsers(): boolean {
    return this.#surfaces.some(({ policy }) => policy?.authenticate !== undefined)
  }

  /** The policy of a surface; undefined if it has none or is gone. */
  policyOf(surface: string): SurfacePolicy | undefined {
    return this.#surfaces.find((each) => each.surface === surface)?.policy
  }

  /** Lists every runnable that is exposed or registered; their runs are resumed after a restart. */
  list(): ExposedRunnable[] {
    const named = this.#surfaces.flatMap((each) => each.named.filter(({ runnable }) => each.names(runnable)))
    return [...named, ...this.#registered()].filter((each) => !this.#isHidden(each))
  }

  /** Looks up the runnable of a run, as the surface does that exposes it. */
  find(key: RunnableKey): Awaitable<Runnable | undefined> {
    return this.#surfaces.find((each) => each.at(key) !== undefined)?.find(key.kind, key.name)
  }

  /** The registry id of runs that the app itself starts. */
  registryOf(runnable: Runnable): string {
    if (this.#surfaces.length === 0) return GLOBAL_REGISTRY
    const registry = this.homeOf(runnable, false)?.id
    return registry === undefined || this.#isHidden({ registry, runnable }) ? NO_REGISTRY : registry
  }

  /**
   * The first registry that has a runnable, `own` before the others, and the registry id of its runs; undefined if no surface exposes it.
   * Runnables of surfaces without a registry count as the app's.
   */
  homeOf(runnable: Runnable, own: Registry | false): { id: string; home: Registry | undefined } | undefined {
    const registries = this.#registries()
    const home = [own, ...registries].find((each) => each !== false && has(each, runnable)) || undefined
    const isSameAs = (each: Runnable) => isSame(each, runnable)
    const place = home ?? this.#surfaces.find(({ given }) => given.some(isSameAs))?.registry
    if (place === undefined) return undefined
    const registry = place || registries[0]
    return { home, id: registry === undefined ? GLOBAL_REGISTRY : this.idOf(registry) }
  }

  /** The id that a registry has in this app. */
  idOf(registry: Registry): string {
    return this.#derivedIds.get(registry) ?? ownIdOf(registry)
  }

  /** The keys with the id of a registry whose runnables only another registry or surface has. */
  foreignKeys(registry: Registry): RunnableKey[] {
    const id = this.idOf(registry)
    return this.#all()
      .filter((each) => each.registry === id && each.home !== registry)
      .map(keyOf)
      .filter(({ kind, name }) => registry.get(kind, name) === undefined)
  }

  /**
   * Checks, once all surfaces exist, that no two runnables share a key.
   * @param derivesIds whether a registry without an id of its own gets another one than an earlier registry with a runnable of the same
   * kind and name. Only where nothing outlasts the process, since such an id depends on the order of registration.
   * @throws REG_ERR_ID_SHARED
   */
  ready(derivesIds: boolean): void {
    if (derivesIds) this.#deriveIds()
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
          return this.#at(keyOf(changed)).length > 0 ? undefined : listeners.removed(changed)
        })
      ]
    })
    return () => offs.forEach((off) => off?.())
  }

  #deriveIds(): void {
    const nameless = this.#registries().filter((registry) => ownIdOf(registry) === GLOBAL_REGISTRY)
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

  #registries(): Registry[] {
    const all = this.#surfaces.map(({ registry }) => registry)
    return [...new Set(all)].filter((registry) => registry !== false)
  }

  #registered(): KeyedRunnable[] {
    return this.#registries().flatMap((home) =>
      home.list().map((runnable) => ({ registry: this.idOf(home), runnable, home }))
    )
  }

  // With named ones that were removed.
  #all(): KeyedRunnable[] {
    return [...this.#surfaces.flatMap(({ named }) => named), ...this.#registered()]
  }

  // What look-ups find under a key. A named runnable replaces its namesake in the surface's registry, and in the app's if they are the same.
  #at(key: RunnableKey, added?: AddedRunnable): { surface: string; runnable: Runnable }[] {
    const [app, ...others] = this.#surfaces
    const isReplaced = others.some((each) => each.registry === app?.registry && each.names(key))
    return (isReplaced ? others : this.#surfaces).flatMap((each) => {
      const runnable = each.at(key, added)
      return runnable === undefined ? [] : [{ surface: each.surface, runnable }]
    })
  }

  #requireOne(key: RunnableKey, added?: AddedRunnable): void {
    const [first, ...others] = this.#at(key, added)
    const second = others.find(({ runnable }) => !isSame(runnable, first!.runnable))
    if (first !== undefined && second !== undefined)
      throw new REG_ERR_ID_SHARED(key.kind, key.name, key.registry, first.surface, second.surface)
  }

  // True if look-ups find another runnable with its key.
  #isHidden(exposed: ExposedRunnable): boolean {
    return this.#at(keyOf(exposed)).some(({ runnable }) => !isSame(runnable, exposed.runnable))
  }
}

function keyOf({ registry, runnable: { kind, name } }: ExposedRunnable): RunnableKey {
  return { registry, kind, name }
}

// A registry that the app implements may have none.
function ownIdOf(registry: Registry): string {
  return (registry as Partial<Registry>).id ?? GLOBAL_REGISTRY
}

// Under any name.
function has(registry: Registry, runnable: Runnable): boolean {
  const { kind, name } = runnable
  const namesake = registry.get(kind, name)
  if (namesake !== undefined && isSame(namesake, runnable)) return true
  return registry.list(kind).some((each) => isSame(each, runnable))
}
