import {
  isOfSession,
  type MemoryItem,
  type MemoryItemRetention,
  type MemoryStore,
  type ScoredMemoryItem
} from '@svc/contract'
import { weighWord, wordsOf } from '@svc/contract/stores'
import type { RunTable } from './run-table.ts'

/** The memories of one owner in one namespace, with an index of their words. */
class MemorySpace {
  // In the order of their writes.
  readonly #items = new Map<string, MemoryItem>()
  readonly #byWord = new Map<string, Set<MemoryItem>>()

  get size(): number {
    return this.#items.size
  }

  put(item: MemoryItem): void {
    this.remove(item.id)
    this.#items.set(item.id, item)
    for (const word of wordsOf(item.text)) {
      const having = this.#byWord.get(word)
      if (having === undefined) this.#byWord.set(word, new Set([item]))
      else having.add(item)
    }
  }

  remove(id: string): boolean {
    const item = this.#items.get(id)
    if (item === undefined) return false
    this.#items.delete(id)
    for (const word of wordsOf(item.text)) {
      const having = this.#byWord.get(word)
      having?.delete(item)
      if (having?.size === 0) this.#byWord.delete(word)
    }
    return true
  }

  search(query: string, limit: number): ScoredMemoryItem[] {
    const scores = new Map<MemoryItem, number>()
    for (const word of wordsOf(query)) {
      const having = this.#byWord.get(word) ?? []
      const weight = weighWord(this.size, this.#byWord.get(word)?.size ?? 0)
      for (const item of having) scores.set(item, (scores.get(item) ?? 0) + weight)
    }
    return [...scores]
      .sort(([a, scoreOfA], [b, scoreOfB]) => scoreOfB - scoreOfA || b.createdAt - a.createdAt)
      .slice(0, limit)
      .map(([item, score]) => ({ ...structuredClone(item), score }))
  }

  list(limit: number): MemoryItem[] {
    const newest = [...this.#items.values()].toReversed().sort((a, b) => b.createdAt - a.createdAt)
    return structuredClone(newest.slice(0, limit))
  }

  /** The id of the oldest item; of items of the same age, that of the one written first. */
  oldest(): string | undefined {
    let oldest: MemoryItem | undefined
    for (const item of this.#items.values())
      if (oldest === undefined || item.createdAt < oldest.createdAt) oldest = item
    return oldest?.id
  }

  /** The items, in the order of their writes; they must not be changed. */
  items(): MemoryItem[] {
    return [...this.#items.values()]
  }

  /** The ids of the items created at a time or before. */
  until(time: number): string[] {
    return [...this.#items.values()].filter(({ createdAt }) => createdAt <= time).map(({ id }) => id)
  }
}

// The total of all spaces is limited to that of this many full ones; the space idle for longest is dropped.
const FULL_SPACES = 10

/** What agents remember, in process memory. */
export function createInProcessMemoryStore(
  { memoryMaxItems, memoryMaxAge }: MemoryItemRetention,
  runs: Pick<RunTable, 'requireEpoch'>
): MemoryStore {
  const spaces = new Map<string, MemorySpace>()
  let size = 0

  const remove = (key: string, id: string): boolean => {
    const space = spaces.get(key)
    if (!space?.remove(id)) return false
    if (space.size === 0) spaces.delete(key)
    size--
    return true
  }

  return {
    put(item, fence) {
      runs.requireEpoch(fence)
      const key = keyOf(item.owner, item.namespace)
      const space = spaces.get(key) ?? new MemorySpace()
      const before = space.size
      space.put(structuredClone(item))
      size += space.size - before
      // Keeps the spaces in the order of their last writes.
      spaces.delete(key)
      spaces.set(key, space)
      if (space.size > memoryMaxItems) remove(key, space.oldest()!)
      while (size > memoryMaxItems * FULL_SPACES) {
        const [idle, { size: forgotten }] = spaces.entries().next().value!
        spaces.delete(idle)
        size -= forgotten
      }
    },
    search: (owner, namespace, query, limit) =>
      spaces.get(keyOf(owner, namespace))?.search(query, limit) ?? [],
    list: (owner, namespace, limit) => spaces.get(keyOf(owner, namespace))?.list(limit) ?? [],
    remove: (owner, namespace, id) => remove(keyOf(owner, namespace), id),
    removeSession(owner, sessionId, mayGo) {
      const before = size
      for (const [key, space] of spaces)
        for (const { id, namespace, metadata } of space.items()) {
          const from: unknown = metadata?.['sessionId']
          if (ownerOf(key) !== owner || typeof from !== 'string' || !isOfSession(from, sessionId)) continue
          if (mayGo({ namespace, ...(metadata && { metadata }) })) remove(key, id)
        }
      return before - size
    },
    removeOwner(owner, limit) {
      const before = size
      for (const [key, space] of spaces)
        if (ownerOf(key) === owner)
          for (const { id } of space.items()) if (before - size < limit) remove(key, id)
      return before - size
    },
    sweep(now) {
      if (memoryMaxAge === 0) return 0
      const before = size
      for (const [key, space] of spaces) for (const id of space.until(now - memoryMaxAge)) remove(key, id)
      return before - size
    }
  }
}

function keyOf(owner: string, namespace: string): string {
  return JSON.stringify([owner, namespace])
}

function ownerOf(key: string): string {
  return (JSON.parse(key) as [owner: string])[0]
}
