/** The slot of a value; empty once the value is deleted. */
export interface Slot<V> {
  value: V | undefined
}

/** The minimum number of empty slots before they are cleared away. */
const MAX_EMPTY = 100

/**
 * A map for short-lived entries. A Map whose entries are deleted is rehashed again and again, and each old table points to the next:
 * once one of them is in the old generation, everything that the later ones ever held survives until the next full garbage
 * collection. This map deletes nothing. A removed entry leaves an empty slot, and from time to time a new Map takes over.
 */
export class PassingMap<K, V extends object> {
  #slots = new Map<K, Slot<V>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  get(key: K): V | undefined {
    return this.#slots.get(key)?.value
  }

  /** Returns the slot of the value, for `leave`. */
  set(key: K, value: V): Slot<V> {
    const slot = this.#slots.get(key)
    if (slot === undefined) return this.add(key, value)
    if (slot.value === undefined) this.#size++
    slot.value = value
    return slot
  }

  /** As `set`, for a new key. */
  add(key: K, value: V): Slot<V> {
    const slot: Slot<V> = { value }
    this.#slots.set(key, slot)
    this.#size++
    return slot
  }

  delete(key: K): boolean {
    return this.leave(this.#slots.get(key))
  }

  /** Empties a slot without a look-up. */
  leave(slot: Slot<V> | undefined): boolean {
    if (slot?.value === undefined) return false
    slot.value = undefined
    this.#size--
    if (this.#slots.size - this.#size > MAX_EMPTY + this.#size) this.#clearAway()
    return true
  }

  /** In insertion order. */
  values(): V[] {
    const values: V[] = []
    for (const { value } of this.#slots.values()) if (value !== undefined) values.push(value)
    return values
  }

  #clearAway(): void {
    const left = new Map<K, Slot<V>>()
    for (const [key, slot] of this.#slots) if (slot.value !== undefined) left.set(key, slot)
    this.#slots = left
  }
}
