/** Where a value stands; empty when it has gone. */
export interface Place<V> {
  value: V | undefined
}

/** So many empty places are cleared away at once. */
const MAX_EMPTY = 100

/**
 * A map of what comes and soon goes. A Map whose entries are deleted gets a new table again and again, and each table
 * points to the next: once one of them is old, everything that ever stood in those after it lives until the next full
 * collection of garbage. Here nothing is deleted. What goes leaves an empty place, and now and then a new Map takes over.
 */
export class PassingMap<K, V extends object> {
  #places = new Map<K, Place<V>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  get(key: K): V | undefined {
    return this.#places.get(key)?.value
  }

  /** Gives the place of the value, for `leave`. */
  set(key: K, value: V): Place<V> {
    const place = this.#places.get(key)
    if (place === undefined) return this.add(key, value)
    if (place.value === undefined) this.#size++
    place.value = value
    return place
  }

  /** The same for a key that is new. */
  add(key: K, value: V): Place<V> {
    const place: Place<V> = { value }
    this.#places.set(key, place)
    this.#size++
    return place
  }

  delete(key: K): boolean {
    return this.leave(this.#places.get(key))
  }

  /** Deletes what stands at a place, without looking for it. */
  leave(place: Place<V> | undefined): boolean {
    if (place?.value === undefined) return false
    place.value = undefined
    this.#size--
    if (this.#places.size - this.#size > MAX_EMPTY + this.#size) this.#clearAway()
    return true
  }

  /** In the order in which their keys came. */
  values(): V[] {
    return this.#left().map(([, { value }]) => value!)
  }

  #clearAway(): void {
    this.#places = new Map(this.#left())
  }

  #left(): [K, Place<V>][] {
    return [...this.#places].filter(([, { value }]) => value !== undefined)
  }
}
