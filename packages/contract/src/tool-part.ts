import type { NumberedPart, PartOf } from './part.ts'

const TOOL_PARTS = [
  'tool.call.delta',
  'tool.call',
  'tool.result',
  'tool.error',
  'tool.approval.request',
  'tool.approval.response',
  'input.request',
  'input.response'
] as const
const types = new Set<string>(TOOL_PARTS)

/** A part about a tool call, or about what a run asks. */
export type ToolPart = NumberedPart & PartOf<(typeof TOOL_PARTS)[number]>

/** True for parts about tool calls, and about what a run asks. */
export function isToolPart(part: NumberedPart): part is ToolPart {
  return types.has(part.type)
}
