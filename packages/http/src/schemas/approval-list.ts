import { Type } from '@sinclair/typebox'
import { PendingApprovalSchema } from '@svc/registry'

/** The approvals that wait for the caller. */
export const ApprovalListSchema = Type.Object(
  { approvals: Type.Array(PendingApprovalSchema) },
  { title: 'ApprovalList' }
)
