import type { ApprovalOutcome } from '../approval.ts'
import type { Awaitable } from './awaitable.ts'

/** A message between the nodes of a service. */
export type ControlMessage =
  | { type: 'cancel'; runId: string }
  | { type: 'approval'; runId: string; approvalId: string; answer: ApprovalOutcome }

/** Delivers control messages to every node, including the sender. */
export interface ControlBus {
  publish(message: ControlMessage): Awaitable<void>
  /** Calls the listener with every message until the returned function is called. */
  subscribe(listener: (message: ControlMessage) => void): () => void
}
