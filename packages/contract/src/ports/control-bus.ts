import type { InputOutcome } from '../input.ts'
import type { Awaitable } from './awaitable.ts'

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
