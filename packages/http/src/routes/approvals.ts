import { RUN_ERR_APPROVAL_ANSWERED, type FoundInput } from '@svc/registry'
import {
  ApprovalAnswerSchema,
  LISTED_KINDS,
  mayAnswer,
  requireAnswerable,
  RunRecordSchema,
  seesAllOf,
  toPendingApproval
} from '@svc/registry/kit'
import { formatInputCursor } from '@svc/registry/store-kit'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
import { collectPage, sendPage } from '../replies/collect-page.ts'
import { sendPieces, sendRecord, withMember } from '../replies/send-json.ts'
import { ApprovalListSchema, ApprovalQuerySchema, ApprovalSchema } from '../schemas/approval-list.ts'
import { ApprovalParamsSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

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
    200: jsonReply('The run, which continues', RunRecordSchema),
    ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503)
  }
}

/** `/approvals`: list the pending approvals that the caller may answer, read one, answer it. */
export function approvalsRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, replies } = surface
  const toItem = ({ run, input }: FoundInput) => ({
    ...toPendingApproval(run.runId, input),
    href: `${scope.prefix}/approvals/${input.inputId}`
  })

  scope.get('/approvals', { schema: list, config }, async ({ principal, query }, reply) => {
    const { limit, cursor, ...filter } = query
    const owner = seesAllOf('approvals', principal) ? {} : { owner: principal.sub }
    // Approvals of one run are adjacent: decide once per run.
    let known: { runId: string; may: Promise<boolean> } | undefined
    const may = ({ run }: FoundInput) => {
      if (known?.runId !== run.runId)
        known = { runId: run.runId, may: mayAnswer(surface, run, 'approval', principal) }
      return known.may
    }
    const page = await collectPage<FoundInput>(
      {
        async read(some, after) {
          const found = await runs.listInputs({
            ...{ ...filter, ...owner, kinds: LISTED_KINDS.approvals },
            ...{ scope: surface.exposed.scope(), limit: some },
            ...(after !== undefined && { cursor: after })
          })
          return { items: found.inputs, nextCursor: found.nextCursor }
        },
        encode: async (found) => ((await may(found)) ? JSON.stringify(toItem(found)) : undefined),
        cursorOf: formatInputCursor
      },
      { limit, ...(cursor !== undefined && { cursor }) }
    )
    return sendPage(reply, 'approvals', page)
  })

  scope.get('/approvals/:approvalId', { schema: look, config }, async ({ params, principal }, reply) => {
    const found = await requireAnswerable(surface, 'approvals', params.approvalId, principal)
    const { status } = found.run
    if (status !== 'input-required' || found.input.answer !== null) throw new RUN_ERR_APPROVAL_ANSWERED()
    const { args: _, argsPreview: __, ...item } = toItem(found)
    const args = runs.stores.runs.readArgs(params.approvalId)
    return sendPieces(replies, reply, withMember(item, 'args', args))
  })

  scope.post(
    '/approvals/:approvalId',
    { schema: answer, config },
    async ({ params, body, principal }, reply) => {
      await requireAnswerable(surface, 'approvals', params.approvalId, principal)
      return sendRecord(surface, reply, await runs.answer(params.approvalId, body))
    }
  )
}
