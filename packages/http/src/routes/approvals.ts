import { ApprovalAnswerSchema } from '@svc/contract'
import { toPendingApproval } from '@svc/surface'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
import { ApprovalListSchema, ApprovalQuerySchema, ApprovalSchema } from '../schemas/approval-list.ts'
import { ApprovalParamsSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'
import {
  AnsweredRunSchema,
  answerInput,
  sendInput,
  sendInputPage,
  type ListedInputs
} from './listed-inputs.ts'

const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation('list-approvals', 'Approvals that wait for the caller'),
  querystring: ApprovalQuerySchema,
  response: { 200: jsonReply('One page of approvals', ApprovalListSchema), ...errorReplies(400, 500, 503) }
}
const look = {
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

  scope.get('/approvals/:approvalId', { schema: look, config }, ({ params, principal }, reply) =>
    sendInput(surface, reply, approvals, principal, params.approvalId)
  )

  scope.post('/approvals/:approvalId', { schema: answer, config }, ({ params, body, principal }, reply) =>
    answerInput(surface, reply, approvals, principal, { inputId: params.approvalId, answer: body })
  )
}
