/** How much an `AgingMap` keeps. */
export interface AgingLimits<V extends object> {
  /** Entries at most. */
  maxSize: number
  /** What they weigh in all, at most; the newest one is kept whatever it weighs. */
  maxWeight: number
  weigh(value: V): number
  /** Whether an entry stays however old it is, unless there is too much weight; default: none does. */
  keeps?(value: V): boolean
  /** Told of what goes because there is too much. */
  onDrop?(values: Iterable<V>): void
}

interface Group<V extends object> {
  readonly entries: Map<string, V>
  weight: number
}

/** When there is too much, up to this share of the limits goes at once. */
const GROUP_SHARE = 0.1

/**
 * A map of the newest entries. They stand in groups by their age, and the oldest group goes as a whole: forgetting looks
 * nothing up, what comes goes into a small map, and no table is used again, so that none keeps alive what is gone.
 */
export class AgingMap<V extends object> {
  readonly #limits: AgingLimits<V>
  // The oldest first; there is always one.
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
    // The newest are asked for most.
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

  /** Removes an entry, and gives it; its weight must be what it was. */
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

  // What is removed is mostly old.
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
    // Each group once: all that is left may be what stays.
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

  // As if it were new.
  #takeBack(entries: Map<string, V>, keeps: (value: V) => boolean): void {
    for (const [key, value] of entries) {
      if (!keeps(value)) continue
      entries.delete(key)
      this.#put(key, value)
    }
  }
}
