import { Type } from '@sinclair/typebox'
import { ApprovalAnswerSchema, PendingApprovalSchema } from '@svc/contract'
import { toPendingApproval } from '@svc/surface'
import { describeOperation, errorReplies, jsonReply } from '../openapi/describe-operation.ts'
import {
  AnsweredRunSchema,
  answerInput,
  sendInput,
  sendInputPage,
  type ListedInputs
} from './listed-inputs.ts'
import { ApprovalParamsSchema, nextCursor, pageQuery } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** Selects one page of pending approvals. */
const ApprovalQuerySchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Only the approvals of this run' })
    ),
    ...pageQuery
  },
  { title: 'ApprovalQuery', additionalProperties: false }
)

/** A pending approval that the caller may answer. */
const ApprovalSchema = Type.Object(
  {
    ...PendingApprovalSchema.properties,
    href: Type.String({ description: 'The URL of the approval with all its arguments' })
  },
  { title: 'Approval' }
)

/** One page of pending approvals. */
const ApprovalListSchema = Type.Object(
  { approvals: Type.Array(ApprovalSchema), nextCursor },
  { title: 'ApprovalList' }
)

const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation('list-approvals', 'Approvals that wait for the caller'),
  querystring: ApprovalQuerySchema,
  response: { 200: jsonReply('One page of approvals', ApprovalListSchema), ...errorReplies(400, 500, 503) }
}
const get = {
  ...describeOperation('get-approval', 'One pending approval, with all its arguments'),
  params: ApprovalParamsSchema,
  response: {
    200: jsonReply('The approval', ApprovalSchema),
    ...errorReplies(400, 404, 409, 414, 500, 503)
  }
}
const answer = {
  ...describeOperation('answer-approval', 'Approve or deny a tool call'),
  params: ApprovalParamsSchema,
  body: ApprovalAnswerSchema,
  response: {
    200: jsonReply('The run, which continues', AnsweredRunSchema),
    ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503)
  }
}

/** `/approvals`: list the pending approvals that the caller may answer, read one, answer it. */
export function approvalsRoutes(scope: HttpScope, surface: Surface): void {
  const approvals: ListedInputs = {
    list: 'approvals',
    toItem: ({ run, input }, base) => ({
      ...toPendingApproval(run.runId, input),
      href: `${base}/approvals/${input.inputId}`
    })
  }

  scope.get('/approvals', { schema: list, config }, ({ principal, query }, reply) =>
    sendInputPage(surface, reply, approvals, principal, query)
  )

  scope.get('/approvals/:approvalId', { schema: get, config }, ({ params, principal }, reply) =>
    sendInput(surface, reply, approvals, principal, params.approvalId)
  )

  scope.post('/approvals/:approvalId', { schema: answer, config }, ({ params, body, principal }, reply) =>
    answerInput(surface, reply, approvals, principal, { inputId: params.approvalId, answer: body })
  )
}
