import type { Interrupt, Outcome } from '../wire/events.ts'

/** How a run or a part of it ended. */
export interface RunEnd {
  readonly isCanceled: boolean
  readonly interrupts: readonly Interrupt[]
  /** Calls of the client's tools that the run waits for. */
  readonly pendingToolCallIds: readonly string[]
}

/**
 * The outcome of a run. A client before version 1.0 refuses calls that are pending, which it finds by itself, and `cancelled`: it gets
 * none.
 * @param isCurrent true if the client knows version 1.0
 */
export function toOutcome(
  { isCanceled, interrupts, pendingToolCallIds }: RunEnd,
  isCurrent: boolean
): { outcome?: Outcome } {
  if (interrupts.length > 0) return { outcome: { type: 'interrupt', interrupts: [...interrupts] } }
  if (isCanceled) return isCurrent ? { outcome: { type: 'cancelled' } } : {}
  const pending = isCurrent &&
    pendingToolCallIds.length > 0 && { pendingToolCallIds: [...pendingToolCallIds] }
  return { outcome: { type: 'success', ...pending } }
}
