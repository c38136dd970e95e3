/** The limits of an `AgingMap`. */
export interface AgingLimits<V extends object> {
  /** The maximum number of entries. */
  maxSize: number
  /** The maximum total weight; the newest entry is kept regardless of its weight. */
  maxWeight: number
  weigh(value: V): number
  /** True if an entry stays regardless of its age, unless the weight is exceeded; default: none does. */
  keeps?(value: V): boolean
  /** Called with the entries dropped because a limit was exceeded. */
  onDrop?(values: Iterable<V>): void
}

interface Group<V extends object> {
  readonly entries: Map<string, V>
  weight: number
}

/** The share of the limits that is dropped at once when they are exceeded. */
const GROUP_SHARE = 0.1

/**
 * A map of the newest entries. Entries are grouped by age, and the oldest group is dropped as a whole: dropping needs no look-ups,
 * inserts go into a small map, and no hash table is reused, so that none keeps dropped entries alive.
 */
export class AgingMap<V extends object> {
  readonly #limits: AgingLimits<V>
  // Oldest first; never empty.
  #groups: Group<V>[] = []
  #size = 0
  #weight = 0

  constructor(limits: AgingLimits<V>) {
    this.#limits = limits
    this.#beginGroup()
  }

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    // The newest entries are read most.
    for (let index = this.#groups.length - 1; index >= 0; index--) {
      const value = this.#groups[index]!.entries.get(key)
      if (value !== undefined) return value
    }
    return undefined
  }

  /** Adds an entry under a new key, as the newest. */
  add(key: string, value: V): void {
    this.#put(key, value)
    this.#dropOldest()
  }

  /** Replaces the value of a key, which keeps its age. The old value's weight must not have changed since it was added. */
  replace(key: string, value: V): void {
    const group = this.#find(key)
    if (group === undefined) return
    const more = this.#limits.weigh(value) - this.#limits.weigh(group.entries.get(key)!)
    group.entries.set(key, value)
    group.weight += more
    this.#weight += more
  }

  /** Removes and returns an entry; its weight must not have changed since it was added. */
  remove(key: string): V | undefined {
    const group = this.#find(key)
    if (group === undefined) return undefined
    const value = group.entries.get(key)!
    const weight = this.#limits.weigh(value)
    group.entries.delete(key)
    group.weight -= weight
    this.#weight -= weight
    this.#size--
    if (group.entries.size === 0 && group !== this.#groups.at(-1))
      this.#groups.splice(this.#groups.indexOf(group), 1)
    return value
  }

  /** Oldest first. */
  *values(): IterableIterator<V> {
    for (const { entries } of this.#groups) yield* entries.values()
  }

  #put(key: string, value: V): void {
    const weight = this.#limits.weigh(value)
    const group = this.#groupFor(weight)
    group.entries.set(key, value)
    group.weight += weight
    this.#weight += weight
    this.#size++
  }

  // Removed entries are mostly old.
  #find(key: string): Group<V> | undefined {
    return this.#groups.find(({ entries }) => entries.has(key))
  }

  #groupFor(weight: number): Group<V> {
    const { maxSize, maxWeight } = this.#limits
    const newest = this.#groups.at(-1)!
    const { size } = newest.entries
    const fits = size + 1 <= maxSize * GROUP_SHARE && newest.weight + weight <= maxWeight * GROUP_SHARE
    return size === 0 || fits ? newest : this.#beginGroup()
  }

  #beginGroup(): Group<V> {
    const group: Group<V> = { entries: new Map(), weight: 0 }
    this.#groups.push(group)
    return group
  }

  #dropOldest(): void {
    const { maxSize, maxWeight, keeps, onDrop } = this.#limits
    // Each group at most once, since the remaining entries may all be kept.
    for (let left = this.#groups.length; left > 0; left--) {
      const isTooHeavy = this.#weight > maxWeight && this.#groups.length > 1
      if (this.#size <= maxSize && !isTooHeavy) return
      const { entries, weight } = this.#groups.shift()!
      if (this.#groups.length === 0) this.#beginGroup()
      this.#size -= entries.size
      this.#weight -= weight
      if (keeps !== undefined && !isTooHeavy) this.#takeBack(entries, keeps)
      onDrop?.(entries.values())
    }
  }

  // Kept entries are added again, as the newest.
  #takeBack(entries: Map<string, V>, keeps: (value: V) => boolean): void {
    for (const [key, value] of entries) {
      if (!keeps(value)) continue
      entries.delete(key)
      this.#put(key, value)
    }
  }
}

/**
 * A map of recently used entries, at least `size` and at most twice as many. It has two generations: when the young one is full it
 * becomes the old one, and entries unused since then are dropped with the previous old one. Dropping costs nothing per entry, unless
 * there is a listener.
 */
export class RecentMap<V> {
  readonly #size: number
  readonly #onDrop: ((value: V) => void) | undefined
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  /** @param onDrop called with each value that is dropped, if there is one */
  constructor(size: number, onDrop?: (value: V) => void) {
    this.#size = size
    this.#onDrop = onDrop
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#size && !this.#young.has(key)) {
      const dropped = this.#old
      this.#old = this.#young
      this.#young = new Map()
      if (this.#onDrop !== undefined)
        for (const [old, each] of dropped) if (!this.#old.has(old)) this.#onDrop(each)
    }
    this.#young.set(key, value)
  }

  /** Every entry, once; they do not count as used. */
  *values(): Iterable<V> {
    yield* this.#young.values()
    for (const [key, value] of this.#old) if (!this.#young.has(key)) yield value
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
