import type { FastifyInstance } from 'fastify'
import { rootOf } from './app-scope.ts'
import type { Stores } from '../contract/ports/stores.ts'

/** What is known of a run engine: the plugin that made it, and whether another one uses it. */
interface Note {
  readonly plugin: string
  isUsed: boolean
}

// Of all installed copies of the package: they must be found whichever made the engine.
const kEngine = Symbol.for('@svc/registry/engine')
const kEngines = Symbol.for('@svc/registry/engines')
type Noted = FastifyInstance & { [kEngine]?: Note; [kEngines]?: Map<Stores, Note> }

/** Notes which plugin made the run engine of a scope, and with which stores. */
export function noteEngine(app: FastifyInstance, plugin: string, stores: Stores): void {
  const note: Note = { plugin, isUsed: false }
  app.decorate(kEngine, note)
  const root: Noted = rootOf(app)
  root[kEngines] ??= new Map()
  root[kEngines].set(stores, note)
  app.addHook('onReady', async () => {
    if (note.isUsed || root === app || root[kEngines]!.size === 1) return
    app.log.warn(
      'nothing uses the run engine of a scope: register @svc/registry at the root of the app, before what needs it'
    )
  })
}

/** Notes that a plugin uses the run engine that its scope sees; false where there is none. */
export function useEngine(app: FastifyInstance): boolean {
  const note = (app as Noted)[kEngine]
  if (note !== undefined) note.isUsed = true
  return note !== undefined
}

/** The plugin that made the run engine that a scope sees; undefined where there is none. */
export function bringerOf(app: FastifyInstance): string | undefined {
  return (app as Noted)[kEngine]?.plugin
}

/** Whether an engine of the app, in whatever scope, has these stores. */
export function areInUse(app: FastifyInstance, stores: Stores): boolean {
  return (rootOf(app) as Noted)[kEngines]?.has(stores) ?? false
}

/**
 * Makes sure that an app has no run engine yet, for what an engine takes only when it is made.
 * @throws the given error, whose message gets the plugin that the engine came with
 */
export function requireNoEngine(app: FastifyInstance, TooLate: new (plugin: string) => Error): void {
  const bringer = bringerOf(app)
  if (bringer !== undefined) throw new TooLate(bringer)
}

/**
 * Makes sure that the stores of a scope have an engine, where the app has one at all: else its runs are kept elsewhere.
 * @throws the given error, whose message gets the plugin that the other engine came with
 */
export function requireEngine(
  app: FastifyInstance,
  stores: Stores,
  Unused: new (plugin: string) => Error
): void {
  const [other] = (rootOf(app) as Noted)[kEngines]?.values() ?? []
  if (other !== undefined && !areInUse(app, stores)) throw new Unused(other.plugin)
}
