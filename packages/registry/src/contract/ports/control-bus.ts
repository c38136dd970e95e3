import type { InputOutcome } from '../input.ts'
import type { Awaitable } from './awaitable.ts'

/** A message between the nodes of a service. */
export type ControlMessage =
  /** Cancels the run, on the node that has it. */
  | { type: 'cancel'; runId: string }
  /** The sender's client watches the run, so no other node may cancel it because its own client left. */
  | { type: 'keep'; runId: string }
  /** Delivers an answer that the store has accepted to the run, on the node that has it. */
  | { type: 'input'; runId: string; inputId: string; answer: InputOutcome }

/**
 * Delivers control messages to every node, including the sender. Between processes, delivery of `cancel` and `input` is certain, if
 * late: the store has what they say. `keep` may get lost.
 */
export interface ControlBus {
  publish(message: ControlMessage): Awaitable<void>
  /** Calls the listener with every message until the returned function is called. */
  subscribe(listener: (message: ControlMessage) => void): () => void
}
