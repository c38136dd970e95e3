import { GLOBAL_REGISTRY, type RunnableKey } from '../names.ts'
import type { Awaitable } from '../awaitable.ts'
import type { RunFence } from './nodes.ts'

/** Something worth remembering beyond a session. Times are milliseconds since the epoch. */
export interface MemoryItem {
  id: string
  owner: string
  /** The memory that it belongs to, e.g. the name of an agent. */
  namespace: string
  text: string
  /** With the texts `runId` and `sessionId`, the item goes when its owner deletes that session. */
  metadata?: Readonly<Record<string, unknown>>
  /** For recall by similarity, if the caller has an embedding model; a store may keep it in single precision. */
  embedding?: readonly number[]
  createdAt: number
}

/** A search result; a higher score is a better match. */
export interface ScoredMemoryItem extends MemoryItem {
  score: number
}

/** The retention of memories. */
export interface MemoryItemRetention {
  /** Items per owner and namespace; beyond that, the oldest are removed. */
  memoryMaxItems: number
  /** Milliseconds that an item is kept; 0: without limit. */
  memoryMaxAge: number
}

/** Keeps what agents remember, bounded in number and age per owner and namespace. */
export interface MemoryStore {
  /** Adds an item, or replaces the one with the same owner, namespace and id. @throws RUN_ERR_FENCED as `RunFence` says */
  put(item: MemoryItem, fence?: RunFence): Awaitable<void>
  /**
   * The items that share words with the query, best first. A word that is rare in the namespace counts more than a common one;
   * a store may ignore the most common words if the query has rarer ones.
   */
  search(owner: string, namespace: string, query: string, limit: number): Awaitable<ScoredMemoryItem[]>
  /** The newest items, newest first. */
  list(owner: string, namespace: string, limit: number): Awaitable<MemoryItem[]>
  /** Removes an item; true if it existed. */
  remove(owner: string, namespace: string, id: string): Awaitable<boolean>
  /**
   * Removes the items of an owner whose `metadata.sessionId` is this one, or that of one of its steps; returns their number.
   * @param mayGo called with each of them; false for one that stays
   */
  removeSession(
    owner: string,
    sessionId: string,
    mayGo: (item: Pick<MemoryItem, 'namespace' | 'metadata'>) => boolean
  ): Awaitable<number>
  /** Removes at most `limit` items of an owner, in whatever namespaces; returns their number. */
  removeOwner(owner: string, limit: number): Awaitable<number>
  /** Removes expired items; returns their number. */
  sweep(now: number): Awaitable<number>
}

/** The namespace of what an agent remembers; other namespaces of its own follow after a slash. Neither names nor ids have one. */
export function memorySpaceOf({ registry, name }: Pick<RunnableKey, 'registry' | 'name'>): string {
  return registry === GLOBAL_REGISTRY ? name : `/${registry}/${name}`
}
