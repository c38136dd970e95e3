import { Type } from '@sinclair/typebox'

/** The runnable that a path names. */
export const NameParamsSchema = Type.Object({ name: Type.String() })

/** The run that a path names. */
export const RunParamsSchema = Type.Object({ runId: Type.String() })

/** The approval that a path names. */
export const ApprovalParamsSchema = Type.Object({ approvalId: Type.String() })
