/** What maps and sets have in common: their entries are in the order in which they were added. */
interface Ordered<K> {
  readonly size: number
  keys(): Iterable<K>
  delete(key: K): boolean
}

/** Drops the entries of a map or set that were added first, until it has at most `max`. */
export function dropOldest<K>(entries: Ordered<K>, max: number): void {
  if (entries.size <= max) return
  for (const key of entries.keys()) {
    entries.delete(key)
    if (entries.size <= max) return
  }
}

/** Sets an entry, which is the newest then even if the map had it, and drops the oldest beyond `max`. */
export function setNewest<K, V>(entries: Map<K, V>, key: K, value: V, max: number): void {
  entries.delete(key)
  entries.set(key, value)
  dropOldest(entries, max)
}
