import {
  ApprovalAnswerSchema,
  RunRecordSchema,
  toPendingApprovals,
  toRunRecord,
  type StoredRun
} from '@svc/registry'
import { mayAnswer, requireApproval, seesAllApprovals } from '../auth/require-approval.ts'
import { findRuns } from '../find-runs.ts'
import { ApprovalListSchema } from '../schemas/approval-list.ts'
import { ApprovalParamsSchema } from '../schemas/path-params.ts'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

/** Runs whose approvals one answer lists: the newest. */
const MAX_RUNS = 1_000

/** `GET /approvals`: what waits for an answer that the caller may give. `POST /approvals/:approvalId`: the answer. */
export function approvalsRoutes(scope: HttpScope, surface: Surface): void {
  const config = { access: 'authenticated' } as const
  const list = { response: { 200: ApprovalListSchema } }
  const answer = {
    params: ApprovalParamsSchema,
    body: ApprovalAnswerSchema,
    response: { 200: RunRecordSchema }
  }

  scope.get('/approvals', { schema: list, config }, async ({ principal }) => {
    const waiting = await findRuns(surface, {
      status: 'input-required',
      limit: MAX_RUNS,
      ...(!seesAllApprovals(principal) && { owner: principal.sub })
    })
    const may = await Promise.all(waiting.runs.map((run) => mayAnswer(surface, run, principal)))
    return { approvals: waiting.runs.filter((_, index) => may[index]).flatMap(toPendingApprovals) }
  })

  scope.post('/approvals/:approvalId', { schema: answer, config }, async ({ params, body, principal }) => {
    await requireApproval(surface, params.approvalId, principal)
    const run: StoredRun = await surface.runs.answer(params.approvalId, body)
    return toRunRecord(run)
  })
}
