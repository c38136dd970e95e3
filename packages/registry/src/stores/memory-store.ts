import type { Awaitable } from './awaitable.ts'

/** Something worth remembering beyond a session. Times are milliseconds since the epoch. */
export interface MemoryItem {
  id: string
  owner: string
  /** Which memory it belongs to, e.g. the name of an agent. */
  namespace: string
  text: string
  metadata?: Readonly<Record<string, unknown>>
  /** For recall by likeness, when the caller has an embedding model. */
  embedding?: readonly number[]
  createdAt: number
}

/** An item that a search found; a higher score fits better. */
export interface ScoredMemoryItem extends MemoryItem {
  score: number
}

/** Keeps what agents remember. */
export interface MemoryStore {
  /** Adds an item, or replaces the one with the same owner, namespace and id. */
  put(item: MemoryItem): Awaitable<void>
  /** The items that share words with the query, best first. */
  search(owner: string, namespace: string, query: string, limit: number): Awaitable<ScoredMemoryItem[]>
  /** The newest items, newest first. */
  list(owner: string, namespace: string, limit: number): Awaitable<MemoryItem[]>
  /** Forgets one item; whether there was one. */
  remove(owner: string, namespace: string, id: string): Awaitable<boolean>
}
