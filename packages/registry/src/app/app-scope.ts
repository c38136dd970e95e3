import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defined } from '@svc/contract'
import { REG_ERR_OLD_NODE } from '@svc/contract/errors'
import type { FastifyInstance, RegisterOptions } from 'fastify'

// One per process, even if several copies of the package are installed.
const PLACES = Symbol.for('@svc/registry/places')
const holder = globalThis as { [PLACES]?: WeakMap<object, Set<string>> }
const placesOf = (holder[PLACES] ??= new WeakMap<object, Set<string>>())

/**
 * Claims a place for a plugin: `prefix "/api"` of an app, `namespace "/"` of a Socket.IO server.
 * @param taken creates the error to throw if the plugin already has the place
 */
export function requireFreePlace(
  owner: object,
  plugin: string,
  place: string,
  taken: (place: string) => Error
): void {
  const places = placesOf.get(owner) ?? new Set()
  const key = `${plugin} ${place}`
  if (places.has(key)) throw taken(place)
  placesOf.set(owner, places.add(key))
}

/** The root app of a scope; a scope inherits from its parent. */
export function rootOf(scope: FastifyInstance): FastifyInstance {
  const parent = Object.getPrototypeOf(scope) as FastifyInstance | null
  return parent !== null && typeof parent.hasRoute === 'function' ? rootOf(parent) : scope
}

/** The file of a package that code in another file would load. @throws if it is not installed there */
export function resolveFrom(place: string, name: string): string {
  // Not imported: webpack replaces calls of an imported `createRequire` when it builds.
  return process.getBuiltinModule('node:module').createRequire(place).resolve(name)
}

/**
 * Finds the entry of an installed package, beside which its files are, also for code in a bundle: as seen from the
 * code itself, from the script that the process was started with, and from the working directory.
 * @param from `import.meta.url` of the code; some bundles have none, and some that of the machine they were built on
 */
export function findEntry(name: string, from: string | undefined): string | undefined {
  const places = [
    from === undefined ? undefined : fileURLToPath(from),
    process.argv[1],
    join(process.cwd(), 'index.js')
  ]
  for (const place of places) {
    if (place === undefined) continue
    try {
      return resolveFrom(place, name)
    } catch {
      // It is not installed there.
    }
  }
  return undefined
}

/** The options of a plugin, apart from what Fastify adds to them. */
export interface SplitOptions<Options> {
  readonly options: Omit<Options, keyof RegisterOptions>
  /** Fastify's own, as far as they are given: for the scope of the plugin's routes. */
  readonly registerOptions: RegisterOptions
}

/** Takes what a plugin was registered with apart. */
export function splitRegisterOptions<Options extends object>({
  prefix,
  logLevel,
  logSerializers,
  ...options
}: Options & RegisterOptions): SplitOptions<Options> {
  return {
    options,
    registerOptions: defined({ prefix, logLevel, logSerializers })
  }
}

// One per process, even if several copies of the package are installed.
const SERVERS = Symbol.for('@svc/registry/servers')
const warned = globalThis as { [SERVERS]?: WeakSet<object> }
const servers = (warned[SERVERS] ??= new WeakSet())

/**
 * Warns, once per server and when its app is ready, if clients may send a request without a time limit: time-outs belong to the
 * server, and Fastify sets none for requests.
 */
export function warnOfTimeouts(app: FastifyInstance): void {
  if (servers.has(app.server)) return
  servers.add(app.server)
  app.addHook('onReady', async () => {
    // HTTP/2 servers have neither.
    const { requestTimeout, headersTimeout } = app.server as {
      requestTimeout?: number
      headersTimeout?: number
    }
    if (requestTimeout !== 0) return
    app.log.warn(
      { requestTimeout, headersTimeout },
      'slow clients can hold connections: set requestTimeout, http.headersTimeout and ' +
        'http.connectionsCheckingInterval of the app'
    )
  })
}

/** The oldest supported Node, as in `engines`. */
const OLDEST = [22, 16] as const

/** Checks the version of Node at start; on an older one the first request would fail. @throws REG_ERR_OLD_NODE */
export function requireNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
  if (!isNew) throw new REG_ERR_OLD_NODE(OLDEST.join('.'), version)
}
