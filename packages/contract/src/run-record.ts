import { Type, type Static } from '@sinclair/typebox'
import { PendingApprovalSchema, PendingInputSchema } from './inputs.ts'
import { RunnableKindSchema } from './names.ts'
import { PartErrorSchema, RunMetadataSchema } from './part.ts'
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
    queuePosition: Type.Optional(
      Type.Integer({
        description: 'The place among the waiting runs of the owner, from 1, while it is queued'
      })
    ),
    joined: Type.Optional(
      Type.Literal(true, {
        description: 'In the reply to a start: the message has joined this run, which was under way'
      })
    ),
    metadata: Type.Optional(RunMetadataSchema),
    result: Type.Optional(RunResultSchema),
    error: Type.Optional(PartErrorSchema),
    pendingApprovals: Type.Array(PendingApprovalSchema, { description: 'The first pending ones' }),
    pendingApprovalCount: Type.Integer({ description: 'The number of pending ones in all' }),
    pendingInputs: Type.Array(PendingInputSchema, { description: 'The first pending ones' }),
    pendingInputCount: Type.Integer({ description: 'The number of pending ones in all' })
  },
  { title: 'RunRecord' }
)
export type RunRecord = Static<typeof RunRecordSchema>
