import type { Awaitable } from './awaitable.ts'

/** Something worth remembering beyond a session. Times are milliseconds since the epoch. */
export interface MemoryItem {
  id: string
  owner: string
  /** Which memory it belongs to, e.g. the name of an agent. */
  namespace: string
  text: string
  metadata?: Readonly<Record<string, unknown>>
  /** For recall by likeness, when the caller has an embedding model; a store may keep it in single precision. */
  embedding?: readonly number[]
  createdAt: number
}

/** An item that a search found; a higher score fits better. */
export interface ScoredMemoryItem extends MemoryItem {
  score: number
}

/** What is kept of memories. */
export interface MemoryItemRetention {
  /** Items of one owner and namespace; of more, the oldest go. */
  memoryMaxItems: number
  /** Milliseconds that an item is kept; 0 for ever. */
  memoryMaxAge: number
}

/** Keeps what agents remember: so much of each owner and namespace, for so long. */
export interface MemoryStore {
  /** Adds an item, or replaces the one with the same owner, namespace and id. */
  put(item: MemoryItem): Awaitable<void>
  /**
   * The items that share words with the query, best first: a word that few items of the namespace have counts more than
   * one that many have. A store may pass over the commonest words where others are rare.
   */
  search(owner: string, namespace: string, query: string, limit: number): Awaitable<ScoredMemoryItem[]>
  /** The newest items, newest first. */
  list(owner: string, namespace: string, limit: number): Awaitable<MemoryItem[]>
  /** Forgets one item; whether there was one. */
  remove(owner: string, namespace: string, id: string): Awaitable<boolean>
  /** Removes the items that are too old; gives how many. */
  sweep(now: number): Awaitable<number>
}
