import { scoreWords, wordsOf } from '../words.ts'
import type { MemoryItem, MemoryStore } from '../memory-store.ts'

/** Bounds of the memory store in memory. */
export interface MemoryItemLimits {
  /** Items in all; the one that was written first goes first; default 10,000. */
  maxItems?: number
}

/** What agents remember, in memory. */
export function createMemoryMemoryStore({ maxItems = 10_000 }: MemoryItemLimits = {}): MemoryStore {
  const items = new Map<string, MemoryItem>()
  const of = (owner: string, namespace: string) =>
    [...items.values()].filter((item) => item.owner === owner && item.namespace === namespace)

  return {
    put(item) {
      const key = keyOf(item.owner, item.namespace, item.id)
      items.delete(key)
      items.set(key, structuredClone(item))
      if (items.size > maxItems) items.delete(items.keys().next().value!)
    },
    search(owner, namespace, query, limit) {
      const words = wordsOf(query)
      return of(owner, namespace)
        .map((item) => ({ ...structuredClone(item), score: scoreWords(item.text, words) }))
        .filter((item) => item.score > 0)
        .sort((a, b) => b.score - a.score || b.createdAt - a.createdAt)
        .slice(0, limit)
    },
    list: (owner, namespace, limit) =>
      structuredClone(
        of(owner, namespace)
          .sort((a, b) => b.createdAt - a.createdAt)
          .slice(0, limit)
      ),
    remove: (owner, namespace, id) => items.delete(keyOf(owner, namespace, id))
  }
}

function keyOf(owner: string, namespace: string, id: string): string {
  return JSON.stringify([owner, namespace, id])
}
