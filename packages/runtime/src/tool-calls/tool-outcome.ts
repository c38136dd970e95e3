import type { ToolError, YieldedPart } from '@svc/contract'
import type { ToolContentPart } from '../tools/tool-content.ts'

/** A call of a tool, by the model or by another tool. */
export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The call that made this one. */
  readonly parentToolCallId?: string
  /** The raw text if it is not JSON. */
  readonly args: unknown
  /** Why the arguments are not JSON. */
  readonly fault?: string
}

/** The outcome of a tool call: a result, or an error that the model may correct. */
export interface ToolOutcome<C extends ToolCall = ToolCall> {
  readonly call: C
  /** The arguments, if an approval edited them. */
  readonly editedArgs?: unknown
  readonly result?: unknown
  /** Shown to the model instead of the result, if that has more than text. */
  readonly content?: readonly ToolContentPart[]
  readonly error?: ToolError
  /** Milliseconds of the tool itself; 0 if it was not called. */
  readonly durationMs: number
}

/** The part of a nested call; the parts of the model's own calls come from its stream. */
export function toCallPart({ args, ...call }: ToolCall): YieldedPart {
  return { type: 'tool.call', ...namesOf(call), args }
}

/** The part of an outcome. */
export function toOutcomePart({ call, result, error, durationMs }: ToolOutcome): YieldedPart {
  if (error) return { type: 'tool.error', ...namesOf(call), error }
  return { type: 'tool.result', ...namesOf(call), result, durationMs }
}

function namesOf({ toolCallId, toolName, parentToolCallId }: Omit<ToolCall, 'args'>) {
  return { toolCallId, toolName, ...(parentToolCallId !== undefined && { parentToolCallId }) }
}
