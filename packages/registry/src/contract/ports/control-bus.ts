import type { ApprovalOutcome } from '../approval.ts'
import type { Awaitable } from './awaitable.ts'

/** What the nodes of a service tell each other. */
export type ControlMessage =
  | { type: 'cancel'; runId: string }
  | { type: 'approval'; runId: string; approvalId: string; answer: ApprovalOutcome }

/** Carries control messages to every node, the sender's own included. */
export interface ControlBus {
  publish(message: ControlMessage): Awaitable<void>
  /** Calls the listener with every message until the returned function is called. */
  subscribe(listener: (message: ControlMessage) => void): () => void
}
