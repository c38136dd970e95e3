import type { FastifyInstance } from 'fastify'
import { rootOf } from './app-scope.ts'
import type { Stores } from '@svc/contract'

/** A run engine of an app: the plugin that created it, and whether another one uses it. */
interface Note {
  readonly plugin: string
  isUsed: boolean
}

// Shared by all installed copies of the package, whichever created the engine.
const kEngine = Symbol.for('@svc/registry/engine')
const kEngines = Symbol.for('@svc/registry/engines')
type Noted = FastifyInstance & { [kEngine]?: Note; [kEngines]?: Map<Stores, Note> }

/** Records which plugin created the run engine of a scope, and with which stores. */
export function noteEngine(app: FastifyInstance, plugin: string, stores: Stores): void {
  const note: Note = { plugin, isUsed: false }
  app.decorate(kEngine, note)
  const root: Noted = rootOf(app)
  root[kEngines] ??= new Map()
  root[kEngines].set(stores, note)
  app.addHook('onReady', async () => {
    if (note.isUsed || root === app || root[kEngines]!.size === 1) return
    app.log.warn(
      'nothing uses the run engine of a scope: register @svc/registry at the root of the app, before the plugins that need it'
    )
  })
}

/** Records that a plugin uses the run engine of its scope; false if there is none. */
export function useEngine(app: FastifyInstance): boolean {
  const note = (app as Noted)[kEngine]
  if (note !== undefined) note.isUsed = true
  return note !== undefined
}

/** The plugin that created the run engine of a scope; undefined if there is none. */
export function bringerOf(app: FastifyInstance): string | undefined {
  return (app as Noted)[kEngine]?.plugin
}

/** True if an engine in any scope of the app has these stores. */
export function areInUse(app: FastifyInstance, stores: Stores): boolean {
  return (rootOf(app) as Noted)[kEngines]?.has(stores) ?? false
}

/**
 * Checks that an app has no run engine yet, for settings that an engine reads only when it is created.
 * @throws the given error, with the plugin that created the engine
 */
export function requireNoEngine(app: FastifyInstance, TooLate: new (plugin: string) => Error): void {
  const bringer = bringerOf(app)
  if (bringer !== undefined) throw new TooLate(bringer)
}

/**
 * Checks that the stores of a scope have an engine, if the app has any engine; otherwise its runs would be kept elsewhere.
 * @throws the given error, with the plugin that created the other engine
 */
export function requireEngine(
  app: FastifyInstance,
  stores: Stores,
  Unused: new (plugin: string) => Error
): void {
  const [other] = (rootOf(app) as Noted)[kEngines]?.values() ?? []
  if (other !== undefined && !areInUse(app, stores)) throw new Unused(other.plugin)
}
