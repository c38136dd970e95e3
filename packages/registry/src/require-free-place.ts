// One a process, however many copies of the package are installed.
const PLACES = Symbol.for('@svc/registry/places')
const holder = globalThis as { [PLACES]?: WeakMap<object, Set<string>> }
const placesOf = (holder[PLACES] ??= new WeakMap<object, Set<string>>())

/**
 * Takes a place for a plugin: `prefix "/api"` of an app, `namespace "/"` of a Socket.IO server.
 * @throws the given error, whose message gets the place, where the plugin has it already
 */
export function requireFreePlace(
  owner: object,
  plugin: string,
  place: string,
  Taken: new (place: string) => Error
): void {
  const taken = placesOf.get(owner) ?? new Set()
  const key = `${plugin} ${place}`
  if (taken.has(key)) throw new Taken(place)
  placesOf.set(owner, taken.add(key))
}
