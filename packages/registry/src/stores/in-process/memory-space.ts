import { weighWord, wordsOf } from '@svc/contract/stores'
import type { MemoryItem, ScoredMemoryItem } from '@svc/contract'

/** The memories of one owner in one namespace, with an index of their words. */
export class MemorySpace {
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
