import { Type, type Static } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'
import { PartErrorSchema } from './part.ts'
import { RunMetadataSchema } from './run-metadata.ts'
import { RunResultSchema } from './run-result.ts'

/** States of a run, named as in A2A. The last three are terminal: no transition leaves them. */
export const RunStatusSchema = Type.Union(
  [
    Type.Literal('submitted'),
    Type.Literal('working'),
    Type.Literal('input-required'),
    Type.Literal('completed'),
    Type.Literal('failed'),
    Type.Literal('canceled')
  ],
  { title: 'RunStatus' }
)
export type RunStatus = Static<typeof RunStatusSchema>

/** True if no transition leaves this state. */
export function isTerminalStatus(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled'
}

/** A pending approval; large arguments are cut to a preview. */
export const PendingApprovalSchema = Type.Object(
  {
    approvalId: Type.String(),
    runId: Type.String(),
    toolCallId: Type.String(),
    toolName: Type.String(),
    args: Type.Optional(Type.Unknown({ description: 'Omitted if their JSON exceeds 4 KiB' })),
    argsPreview: Type.Optional(Type.String({ description: 'The beginning of the JSON of larger ones' })),
    argsBytes: Type.Integer({ description: 'Size of their JSON in bytes' }),
    expiresAt: Type.String({ format: 'date-time' }),
    source: Type.Optional(Type.Array(Type.String()))
  },
  { title: 'PendingApproval' }
)
export type PendingApproval = Static<typeof PendingApprovalSchema>

/** An answer to an approval: approve, deny with a reason, or approve with edited arguments. */
export const ApprovalAnswerSchema = Type.Object(
  {
    approved: Type.Boolean(),
    reason: Type.Optional(Type.String({ maxLength: 4096 })),
    args: Type.Optional(
      Type.Unsafe<Record<string, unknown>>(
        Type.Object({}, { description: 'The edited arguments, complete; default: unchanged' })
      )
    )
  },
  { title: 'ApprovalAnswer', additionalProperties: false }
)
export type ApprovalAnswer = Static<typeof ApprovalAnswerSchema>

/** A run as clients see it. Times are ISO 8601 in UTC. */
export const RunRecordSchema = Type.Object(
  {
    runId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String(),
    sessionId: Type.String(),
    status: RunStatusSchema,
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
    metadata: Type.Optional(RunMetadataSchema),
    result: Type.Optional(RunResultSchema),
    error: Type.Optional(PartErrorSchema),
    pendingApprovals: Type.Array(PendingApprovalSchema, { description: 'The first pending ones' }),
    pendingApprovalCount: Type.Integer({ description: 'The number of pending ones in all' })
  },
  { title: 'RunRecord' }
)
export type RunRecord = Static<typeof RunRecordSchema>
