import {
  isOfSession,
  type EmbeddedItem,
  type MemoryItem,
  type MemoryItemRetention,
  type MemoryStore,
  type ScoredMemoryItem,
  type SimilarQuery
} from '@svc/contract'
import { candidatesFor, codeOfEmbedding, CodeTable, cosine, weighWord, wordsOf } from '@svc/contract/stores'
import type { RunTable } from './run-table.ts'

/** An item whose embedding is apart, in single precision. */
interface KeptItem extends Readonly<Omit<MemoryItem, 'embedding' | 'model'>> {
  model?: string
  vector?: Float32Array
}

/** The memories of one owner in one namespace, with an index of their words, and the codes of their embeddings by model. */
class MemorySpace {
  // In the order of their writes.
  readonly #items = new Map<string, KeptItem>()
  readonly #byWord = new Map<string, Set<KeptItem>>()
  readonly #codes = new Map<string, CodeTable<KeptItem>>()

  get size(): number {
    return this.#items.size
  }

  put({ embedding, model, ...item }: MemoryItem): void {
    this.remove(item.id)
    const kept: KeptItem = structuredClone(item)
    this.#items.set(kept.id, kept)
    for (const word of wordsOf(kept.text)) {
      const having = this.#byWord.get(word)
      if (having === undefined) this.#byWord.set(word, new Set([kept]))
      else having.add(kept)
    }
    this.#setEmbedding(kept, embedding, model)
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
    this.#removeCode(item)
    return true
  }

  search(query: string, limit: number): ScoredMemoryItem[] {
    const scores = new Map<KeptItem, number>()
    for (const word of wordsOf(query)) {
      const having = this.#byWord.get(word) ?? []
      const weight = weighWord(this.size, this.#byWord.get(word)?.size ?? 0)
      for (const item of having) scores.set(item, (scores.get(item) ?? 0) + weight)
    }
    return toBest(scores, limit)
  }

  async similar({ embedding, model, limit, minScore }: SimilarQuery): Promise<ScoredMemoryItem[]> {
    const [codes, code] = [this.#codes.get(model), codeOfEmbedding(embedding)]
    if (codes === undefined || code === undefined) return []
    const scores = new Map<KeptItem, number>()
    for (const item of await codes.nearest(code, candidatesFor(limit))) {
      // It may have been removed or embedded again meanwhile.
      if (item.model !== model || this.#items.get(item.id) !== item || item.vector === undefined) continue
      const score = cosine(item.vector, embedding)
      if (score >= minScore) scores.set(item, score)
    }
    return toBest(scores, limit)
  }

  unembedded(model: string, limit: number): MemoryItem[] {
    const found: MemoryItem[] = []
    for (const item of this.#items.values()) {
      if (found.length >= limit) break
      if (item.model !== model) found.push(toItem(item))
    }
    return found
  }

  embed({ id, text, embedding, model }: EmbeddedItem): boolean {
    const item = this.#items.get(id)
    if (item?.text !== text) return false
    this.#removeCode(item)
    this.#setEmbedding(item, embedding, model)
    return true
  }

  list(limit: number): MemoryItem[] {
    const newest = [...this.#items.values()].toReversed().sort((a, b) => b.createdAt - a.createdAt)
    return newest
      .slice(0, limit)
      .map((item) => ({ ...toItem(item), ...(item.vector && { embedding: [...item.vector] }) }))
  }

  /** The id of the oldest item; of items of the same age, that of the one written first. */
  oldest(): string | undefined {
    let oldest: KeptItem | undefined
    for (const item of this.#items.values())
      if (oldest === undefined || item.createdAt < oldest.createdAt) oldest = item
    return oldest?.id
  }

  /** The items, in the order of their writes; they must not be changed. */
  items(): KeptItem[] {
    return [...this.#items.values()]
  }

  /** The ids of the items created at a time or before. */
  until(time: number): string[] {
    return [...this.#items.values()].filter(({ createdAt }) => createdAt <= time).map(({ id }) => id)
  }

  #setEmbedding(item: KeptItem, embedding: MemoryItem['embedding'], model: string | undefined): void {
    const code = embedding && codeOfEmbedding(embedding)
    if (code === undefined) delete item.vector
    else item.vector = Float32Array.from(embedding!)
    if (model === undefined) return
    item.model = model
    if (code === undefined) return
    const codes = this.#codes.get(model) ?? new CodeTable<KeptItem>()
    this.#codes.set(model, codes)
    codes.set(item, code)
  }

  #removeCode(item: KeptItem): void {
    const codes = item.model === undefined ? undefined : this.#codes.get(item.model)
    codes?.delete(item)
    if (codes?.size === 0) this.#codes.delete(item.model!)
  }
}

function toItem({ vector: _, ...item }: KeptItem): MemoryItem {
  return structuredClone(item)
}

// The newest first of those with the same score.
function toBest(scores: ReadonlyMap<KeptItem, number>, limit: number): ScoredMemoryItem[] {
  return [...scores]
    .sort(([a, scoreOfA], [b, scoreOfB]) => scoreOfB - scoreOfA || b.createdAt - a.createdAt)
    .slice(0, limit)
    .map(([item, score]) => ({ ...toItem(item), score }))
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
      space.put(item)
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
    similar: (owner, namespace, query) => spaces.get(keyOf(owner, namespace))?.similar(query) ?? [],
    unembedded: (owner, namespace, model, limit) =>
      spaces.get(keyOf(owner, namespace))?.unembedded(model, limit) ?? [],
    embed(item, fence) {
      runs.requireEpoch(fence)
      return spaces.get(keyOf(item.owner, item.namespace))?.embed(item) ?? false
    },
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
