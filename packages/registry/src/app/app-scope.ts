import type { FastifyInstance } from 'fastify'

// One a process, however many copies of the package are installed.
const PLACES = Symbol.for('@svc/registry/places')
const holder = globalThis as { [PLACES]?: WeakMap<object, Set<string>> }
const placesOf = (holder[PLACES] ??= new WeakMap<object, Set<string>>())

/**
 * Takes a place for a plugin: `prefix "/api"` of an app, `namespace "/"` of a Socket.IO server.
 * @param taken makes the error that is thrown where the plugin has the place already
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

/** The app that a scope is in; a scope inherits from the one around it. */
export function rootOf(scope: FastifyInstance): FastifyInstance {
  const parent = Object.getPrototypeOf(scope) as FastifyInstance | null
  return parent !== null && typeof parent.hasRoute === 'function' ? rootOf(parent) : scope
}
