import {
  ApprovalAnswerSchema,
  mayAnswer,
  requireApproval,
  RunRecordSchema,
  seesAllApprovals,
  toPendingApprovals,
  toRunRecord
} from '@svc/registry'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
import { ApprovalListSchema } from '../schemas/approval-list.ts'
import { ApprovalParamsSchema } from '../schemas/path-params.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** Runs whose approvals one answer lists: the newest. */
const MAX_RUNS = 1_000

const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation('list-approvals', 'What waits for an answer of the caller'),
  response: { 200: jsonReply('All of them', ApprovalListSchema), ...errorReplies(400, 500, 503) }
}
const answer = {
  ...describeOperation('answer-approval', 'Approve or deny a tool call'),
  params: ApprovalParamsSchema,
  body: ApprovalAnswerSchema,
  response: {
    200: jsonReply('The run, which goes on', RunRecordSchema),
    ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503)
  }
}

/** `GET /approvals`: what waits for an answer that the caller may give. `POST /approvals/:approvalId`: the answer. */
export function approvalsRoutes(scope: HttpScope, surface: Surface): void {
  scope.get('/approvals', { schema: list, config }, async ({ principal }) => {
    const waiting = await surface.runs.list({
      scope: surface.exposed.scope(),
      status: 'input-required',
      limit: MAX_RUNS,
      ...(!seesAllApprovals(principal) && { owner: principal.sub })
    })
    const may = await Promise.all(waiting.runs.map((run) => mayAnswer(surface, run, principal)))
    return { approvals: waiting.runs.filter((_, index) => may[index]).flatMap(toPendingApprovals) }
  })

  scope.post('/approvals/:approvalId', { schema: answer, config }, async ({ params, body, principal }) => {
    await requireApproval(surface, params.approvalId, principal)
    return toRunRecord(await surface.runs.answer(params.approvalId, body))
  })
}
