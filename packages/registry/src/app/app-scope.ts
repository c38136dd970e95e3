import type { FastifyInstance } from 'fastify'

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
