import type { Awaitable } from './awaitable.ts'

/**
 * The lease by which a process, a node of its service, has its runs. While it is held, no other node can take them.
 * Only one clock counts for its expiry, that of the store.
 */
export interface NodeLease {
  /** True while no other node can take this node's runs, judged by the monotonic clock since the last contact with the store. */
  readonly held: boolean
  /** Resolves once it is held, or held again. @throws the signal's reason if it aborts first */
  whenHeld(signal: AbortSignal): Awaitable<void>
  /**
   * Calls the listener when this node was declared dead, so that its runs belong to others, until the returned function is called.
   * The node joins again under a new id once all listeners are done.
   */
  onLost(listener: () => Awaitable<void>): () => void
  /**
   * The time by the store's clock, in milliseconds since the epoch, as of the last contact. Nodes agree on it, whatever their own clocks
   * say. Before the first contact, that of this process.
   */
  now(): number
  /** Calls the listener when another node may have left runs, because it died or departed, until the returned function is called. */
  onLeft(listener: () => void): () => void
  /** Gives up one run, for other nodes to take at once. Called when nothing of it is being written. */
  release(runId: string): Awaitable<void>
  /** Gives up all runs at once, for other nodes to take. Called before the stores close; a second call does nothing. */
  leave(): Awaitable<void>
}

/**
 * The lease under which a run writes outside of its own records. Once the run was leased under another epoch, or removed, stores refuse
 * what is written under this one with RUN_ERR_FENCED. A run that ended under this epoch may still write.
 */
export interface RunFence {
  readonly runId: string
  readonly epoch: number
}
