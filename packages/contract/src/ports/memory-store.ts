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
  /**
   * For recall by similarity, if the caller has an embedding model; a store may keep it in single precision. One that is empty, zero or
   * not finite is stored as none.
   */
  embedding?: readonly number[]
  /** Of the embedding: provider, model and dimensions as `provider/modelId:dimensions`, at most 200 characters. */
  model?: string
  createdAt: number
}

/** A search result; a higher score is a better match. */
export interface ScoredMemoryItem extends MemoryItem {
  score: number
}

/** What is searched for by similarity. */
export interface SimilarQuery {
  embedding: readonly number[]
  /** As `MemoryItem.model`; embeddings of others cannot be compared with this one. */
  model: string
  /** Maximum number of items. */
  limit: number
  /** Minimum cosine. */
  minScore: number
}

/** A new embedding of an item. */
export type EmbeddedItem = Pick<MemoryItem, 'id' | 'owner' | 'namespace' | 'text'> &
  Required<Pick<MemoryItem, 'embedding' | 'model'>>

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
   * a store may ignore the most common words if the query has rarer ones, and leave out embeddings.
   */
  search(owner: string, namespace: string, query: string, limit: number): Awaitable<ScoredMemoryItem[]>
  /**
   * The items whose embeddings are most similar, of all that have one of the query's model; best first, with the cosine as score. A store
   * may miss a few, and leave out embeddings. Without this method callers compare the newest items themselves.
   */
  similar?(owner: string, namespace: string, query: SimilarQuery): Awaitable<ScoredMemoryItem[]>
  /**
   * Items whose `model` is another one or missing, those of one model oldest first, without embeddings. An item of this model whose
   * embedding could not be stored is none of them.
   */
  unembedded?(owner: string, namespace: string, model: string, limit: number): Awaitable<MemoryItem[]>
  /**
   * Replaces the embedding and the model of an item, which keeps its age. False if it was removed, or has another text by now.
   * @throws RUN_ERR_FENCED as `RunFence` says
   */
  embed?(item: EmbeddedItem, fence?: RunFence): Awaitable<boolean>
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
