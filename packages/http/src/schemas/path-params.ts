import { Type } from '@sinclair/typebox'

/** The runnable that a path names. */
export const NameParamsSchema = Type.Object({ name: Type.String({ description: 'As it was registered' }) })

/** The run that a path names. */
export const RunParamsSchema = Type.Object({
  runId: Type.String({ description: 'From `x-run-id`, a part `start` or a result' })
})

/** The approval that a path names. */
export const ApprovalParamsSchema = Type.Object({
  approvalId: Type.String({ description: 'From `GET /approvals` or a part `tool.approval.request`' })
})
