import type { NumberedPart, RunnableKind } from '@svc/registry'
import type {
  ApprovalEvent,
  ChunkEvent,
  DoneEvent,
  ErrorEvent,
  ResetEvent,
  SuspendedEvent,
  ToolCallEvent,
  ToolDoneEvent
} from './events/server-events.ts'

/** An event of a run as it is emitted. */
export type ServerEvent =
  | [`${RunnableKind}.chunk`, ChunkEvent]
  | [`${RunnableKind}.tool.call`, ToolCallEvent]
  | [`${RunnableKind}.tool.done`, ToolDoneEvent]
  | [`${RunnableKind}.approval`, ApprovalEvent]
  | [`${RunnableKind}.reset`, ResetEvent]
  | [`${RunnableKind}.done`, DoneEvent]
  | [`${RunnableKind}.error`, ErrorEvent]
  | ['run.suspended', SuspendedEvent]

/** Of which run a part is, and how much of it may be told. */
export interface Projection {
  readonly runId: string
  readonly kind: RunnableKind
  readonly exposeToolArgs: boolean
}

/**
 * The event that tells of a part; undefined where none does, as with the `start` of a run.
 * @param text what the run said in all, for its last part
 */
export function projectPart(
  { runId, kind, exposeToolArgs }: Projection,
  part: NumberedPart,
  text = ''
): ServerEvent | undefined {
  const { seq, source } = part
  const place = source === undefined || source.length === 0 ? { runId, seq } : { runId, seq, source }
  switch (part.type) {
    case 'text':
      return [`${kind}.chunk`, { chunk: part.text, ...place }]
    case 'tool.call': {
      const args = exposeToolArgs ? part.args : null
      return [`${kind}.tool.call`, { toolCallId: part.toolCallId, toolName: part.toolName, args, ...place }]
    }
    case 'tool.result':
    case 'tool.error':
      return [`${kind}.tool.done`, { toolCallId: part.toolCallId, ...place }]
    case 'tool.approval.request': {
      const { approvalId, toolName, args, expiresAt } = part
      return [`${kind}.approval`, { approvalId, toolName, args, expiresAt, ...place }]
    }
    case 'step.start':
      return part.attempt > 1 ? [`${kind}.reset`, { index: part.index, ...place }] : undefined
    case 'error': {
      // A member's failure is not the run's.
      const { code, message: error } = part.error
      return isOwn(part) ? [`${kind}.error`, { error, code, ...place }] : undefined
    }
    case 'finish': {
      const { structured, usage, durationMs, finishReason } = part
      const output = { text, structured, usage, durationMs, finishReason }
      return isOwn(part) ? [`${kind}.done`, { output, ...place }] : undefined
    }
    default:
      return undefined
  }
}

function isOwn({ source }: NumberedPart): boolean {
  return source === undefined || source.length === 0
}
