import type { InputOutcome } from '../input.ts'
import type { Awaitable } from './awaitable.ts'

/** A message between the nodes of a service. */
export type ControlMessage =
  | { type: 'cancel'; runId: string }
  /** The sender's client watches the run, so no other process may cancel it because its own client left. */
  | { type: 'keep'; runId: string }
  | { type: 'input'; runId: string; inputId: string; answer: InputOutcome }

/** Delivers control messages to every node, including the sender. */
export interface ControlBus {
  publish(message: ControlMessage): Awaitable<void>
  /** Calls the listener with every message until the returned function is called. */
  subscribe(listener: (message: ControlMessage) => void): () => void
}
