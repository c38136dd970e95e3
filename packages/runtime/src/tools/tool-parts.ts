import type { YieldedPart } from '@svc/registry'
import type { ToolCall, ToolOutcome } from './call-tool.ts'

/** The part that tells of a call that a tool made; the model's own calls are told while the model speaks. */
export function toCallPart({ args, ...call }: ToolCall): YieldedPart {
  return { type: 'tool.call', ...namesOf(call), args }
}

/** The part that tells what came of a call. */
export function toOutcomePart({ call, result, error, durationMs }: ToolOutcome): YieldedPart {
  if (error) return { type: 'tool.error', ...namesOf(call), error }
  return { type: 'tool.result', ...namesOf(call), result, durationMs }
}

function namesOf({ toolCallId, toolName, parentToolCallId }: Omit<ToolCall, 'args'>) {
  return { toolCallId, toolName, ...(parentToolCallId !== undefined && { parentToolCallId }) }
}
