import type { InputOutcome } from '../inputs.ts'
import type { Awaitable } from '../awaitable.ts'

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

/** A message between the nodes of a service. */
export type ControlMessage =
  /** Cancels the run, on the node that has it. */
  | { type: 'cancel'; runId: string }
  /**
   * A client of the run's owner, connected to the sender, watches the run or no longer does, so that the node that has the run does not
   * cancel it because its own client left. `watcher` identifies the connection: letters, digits, `_` and `-`.
   */
  | { type: 'watch'; runId: string; watcher: string; left?: true }
  /** Has a message that the store keeps join the run, on the node that has it. The sender repeats it until it has the answer. */
  | { type: 'steer'; runId: string; steerId: string }
  /** Delivers an answer that the store has accepted to the run, on the node that has it. */
  | { type: 'input'; runId: string; inputId: string; answer: InputOutcome }

/**
 * Delivers control messages to every node, including the sender. Between processes, delivery of `cancel` and `input` is certain, if
 * late: the store has what they say. `watch` may get lost, but messages of one sender stay in order.
 */
export interface ControlBus {
  publish(message: ControlMessage): Awaitable<void>
  /** Calls the listener with every message until the returned function is called. */
  subscribe(listener: (message: ControlMessage) => void): () => void
}

/** The time in which a key is counted. */
export interface CounterWindow {
  /** Milliseconds, from the first count. */
  readonly length: number
  /** Counts beyond this extend the window; default: none do. */
  readonly max?: number | undefined
  /** How: `restart` begins the window again, `double` also makes it twice as long each time. Default `restart`. */
  readonly extension?: 'restart' | 'double' | undefined
}

/** The state of a key. */
export interface Counted {
  /** This count included. */
  readonly count: number
  /** Milliseconds until the window ends. */
  readonly left: number
}

/** Counts over all processes, such as the requests of a caller. Counts may get lost in a crash of the store. */
export interface CounterStore {
  /** Adds 1 to the count of a key, any text; the first count after its window has ended begins a new one. */
  increment(key: string, window: CounterWindow): Awaitable<Counted>
}
