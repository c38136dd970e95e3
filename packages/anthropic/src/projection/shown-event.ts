import type { StreamEvent } from '../wire/events.ts'
import type { Thread } from './threads.ts'

/** An event, and who sees it. */
export interface ShownEvent {
  readonly event: StreamEvent
  /** Undefined: the primary thread. */
  readonly thread: Thread | undefined
  /** True if the primary thread shows it too: what its user is asked, and what becomes of threads. */
  readonly isShared: boolean
}

/** The event as a reader of the session has it, or of a thread; undefined if it has not. */
export function showTo(
  { event, thread, isShared }: ShownEvent,
  threadId: string | undefined
): StreamEvent | undefined {
  if (thread?.id === threadId) return event
  if (threadId !== undefined || !isShared) return undefined
  return ROUTED.has(event.type) ? ({ ...event, session_thread_id: thread!.id } as StreamEvent) : event
}

const ROUTED: ReadonlySet<string> = new Set([
  'agent.tool_use',
  'agent.custom_tool_use',
  'user.tool_confirmation',
  'user.custom_tool_result'
])
