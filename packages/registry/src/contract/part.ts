import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'

/** Tokens used, summed over every model call of a run, those of members and steps included. */
export const UsageSchema = Type.Object(
  { promptTokens: Type.Number(), completionTokens: Type.Number(), totalTokens: Type.Number() },
  { title: 'Usage' }
)
export type Usage = Static<typeof UsageSchema>

/** Why a run ended without failing. */
export const FinishReasonSchema = Type.Union(
  [
    Type.Literal('stop'),
    Type.Literal('length'),
    Type.Literal('content-filter'),
    Type.Literal('max-steps'),
    Type.Literal('canceled'),
    Type.Literal('other')
  ],
  { title: 'FinishReason' }
)
export type FinishReason = Static<typeof FinishReasonSchema>

/** An error as clients see it. `code` is stable; `retryable` means that the same call may succeed later. */
export const PartErrorSchema = Type.Object(
  { code: Type.String(), message: Type.String(), retryable: Type.Boolean() },
  { title: 'PartError' }
)
export type PartError = Static<typeof PartErrorSchema>

/** An error of a tool; the model sees it too and may correct its call. */
export const ToolErrorSchema = Type.Object(
  { code: Type.String(), message: Type.String() },
  { title: 'ToolError' }
)
export type ToolError = Static<typeof ToolErrorSchema>

const source = {
  source: Type.Optional(Type.Array(Type.String(), { description: 'Path of member or step names' }))
}
const call = {
  toolCallId: Type.String(),
  toolName: Type.String(),
  parentToolCallId: Type.Optional(Type.String({ description: 'The tool call that made this one' }))
}
const definePart = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields, ...source }, { title: `Part ${type}` })

/** The parts by their `type`: the whole vocabulary of a run's log. */
export const PART_SCHEMAS = {
  start: definePart('start', {
    runId: Type.String(),
    sessionId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String()
  }),
  text: definePart('text', { text: Type.String({ description: 'An increment' }) }),
  reasoning: definePart('reasoning', { text: Type.String({ description: 'An increment' }) }),
  'tool.call': definePart('tool.call', { ...call, args: Type.Unknown() }),
  'tool.approval.request': definePart('tool.approval.request', {
    approvalId: Type.String(),
    ...call,
    args: Type.Unknown(),
    expiresAt: Type.String({ format: 'date-time' })
  }),
  'tool.approval.response': definePart('tool.approval.response', {
    approvalId: Type.String(),
    toolCallId: Type.String(),
    approved: Type.Boolean(),
    reason: Type.Optional(Type.String()),
    args: Type.Optional(Type.Unknown({ description: 'The arguments, if the answer edited them' }))
  }),
  'tool.result': definePart('tool.result', {
    ...call,
    result: Type.Unknown(),
    durationMs: Type.Number({ description: 'Milliseconds' })
  }),
  'tool.error': definePart('tool.error', { ...call, error: ToolErrorSchema }),
  'step.start': definePart('step.start', {
    index: Type.Integer(),
    attempt: Type.Integer({ description: 'Over 1: discard the output of the earlier attempt of this step' })
  }),
  step: definePart('step', { index: Type.Integer(), usage: UsageSchema }),
  structured: definePart('structured', { value: Type.Unknown() }),
  error: definePart('error', { error: PartErrorSchema }),
  finish: definePart('finish', {
    finishReason: FinishReasonSchema,
    usage: UsageSchema,
    durationMs: Type.Number({ description: 'Milliseconds' }),
    structured: Type.Unknown({ description: 'null if there is none' })
  })
} as const

/** One item of a run's log, before the engine numbers it. */
export const PartSchema = Type.Union(Object.values(PART_SCHEMAS), { title: 'Part' })

/** The types a part may have. */
export type PartType = keyof typeof PART_SCHEMAS
/** The part of a given type, e.g. `PartOf<'tool.call'>`. */
export type PartOf<T extends PartType> = Static<(typeof PART_SCHEMAS)[T]>
/** Any part, discriminated by `type`. */
export type Part = { [T in PartType]: PartOf<T> }[PartType]
/** A part in a log; `seq` counts from 1 in each run. */
export type NumberedPart = Part & { seq: number }

/** A part that a runnable may yield; a `finish` may omit what the engine knows. */
export type YieldedPart =
  | Exclude<Part, PartOf<'finish'>>
  | (Pick<PartOf<'finish'>, 'type' | 'finishReason' | 'source'> & Partial<PartOf<'finish'>>)

/** Zero tokens. */
export const ZERO_USAGE: Readonly<Usage> = Object.freeze({
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0
})

/** Adds up two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    totalTokens: a.totalTokens + b.totalTokens
  }
}

/** True if a part ends its run: a `finish` or `error` of the run itself, not of a member. */
export function isTerminalPart(part: { type: string; source?: string[] }): boolean {
  return (part.type === 'finish' || part.type === 'error') && !part.source?.length
}
