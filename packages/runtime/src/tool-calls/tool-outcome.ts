import type { ToolError, YieldedPart } from '@svc/registry'
import type { ToolContentPart } from '../tools/tool-content.ts'

/** A call of a tool, by the model or by another tool. */
export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  /** The call of the tool that made this one. */
  readonly parentToolCallId?: string
  /** The text itself when it is no JSON. */
  readonly args: unknown
  /** Why they are no JSON. */
  readonly fault?: string
}

/** What came of a tool call: a result, or an error that the model can mend. */
export interface ToolOutcome<C extends ToolCall = ToolCall> {
  readonly call: C
  /** What the tool was called with, when an approval edited the arguments. */
  readonly editedArgs?: unknown
  readonly result?: unknown
  /** What the model sees instead of the result, when it has more than text. */
  readonly content?: readonly ToolContentPart[]
  readonly error?: ToolError
  /** Milliseconds that the tool itself took; 0 when it was not called. */
  readonly durationMs: number
}

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
