import { Type } from '@sinclair/typebox'
import { PendingApprovalSchema } from '@svc/contract'
import { nextCursor, pageQuery } from './parameters.ts'

/** Selects one page of pending approvals. */
export const ApprovalQuerySchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Only the approvals of this run' })
    ),
    ...pageQuery
  },
  { title: 'ApprovalQuery', additionalProperties: false }
)

/** A pending approval that the caller may answer. */
export const ApprovalSchema = Type.Object(
  {
    ...PendingApprovalSchema.properties,
    href: Type.String({ description: 'The URL of the approval with all its arguments' })
  },
  { title: 'Approval' }
)

/** One page of pending approvals. */
export const ApprovalListSchema = Type.Object(
  { approvals: Type.Array(ApprovalSchema), nextCursor },
  { title: 'ApprovalList' }
)
