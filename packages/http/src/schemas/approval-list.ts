import { Type } from '@sinclair/typebox'
import { PendingApprovalSchema } from '@svc/registry'
import { nextCursor, pageQuery } from './parameters.ts'

/** Which of the approvals that wait to list. */
export const ApprovalQuerySchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Those of this run alone' })
    ),
    ...pageQuery
  },
  { title: 'ApprovalQuery', additionalProperties: false }
)

/** An approval that waits for the caller. */
export const ApprovalSchema = Type.Object(
  {
    ...PendingApprovalSchema.properties,
    href: Type.String({ description: 'Where all of it is, however large its arguments are' })
  },
  { title: 'Approval' }
)

/** One page of them. */
export const ApprovalListSchema = Type.Object(
  { approvals: Type.Array(ApprovalSchema), nextCursor },
  { title: 'ApprovalList' }
)
