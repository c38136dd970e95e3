import { Type } from '@sinclair/typebox'
import {
  ApprovalAnswerSchema,
  InputAnswerSchema,
  PendingApprovalSchema,
  PendingInputSchema,
  reachesOwner,
  RunRecordSchema,
  RunStatusSchema,
  toLateAnswer,
  type FoundInput,
  type Principal
} from '@svc/contract'
import { formatInputCursor } from '@svc/contract/stores'
import {
  LISTED_KINDS,
  mayAnswer,
  requireAnswerable,
  seesAllOf,
  sendPieces,
  toPendingApproval,
  toPendingInput,
  type GivenAnswer,
  type InputList
} from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { describeOperation, errorReplies, jsonReply } from '../openapi/describe-operation.ts'
import { collectPage, sendPage, type PageQuery } from '../replies/collect-page.ts'
import { sendRecord, withMember } from '../replies/run-records.ts'
import { ApprovalParamsSchema, InputParamsSchema, nextCursor, pageQuery } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** How a list shows its items. */
export interface ListedInputs {
  readonly list: InputList
  /** An item as clients see it. @param base what its link begins with */
  readonly toItem: (found: FoundInput, base: string) => object
}

/** Replies with a page of the pending inputs that the caller may answer. */
async function sendInputPage(
  surface: Surface,
  reply: FastifyReply,
  { list, toItem }: ListedInputs,
  principal: Principal,
  { limit, cursor, runId }: PageQuery & { runId?: string }
) {
  const query = {
    kinds: LISTED_KINDS[list],
    scope: surface.exposed.scope(),
    ...(!seesAllOf(list, principal) && { owner: principal.sub }),
    ...(runId !== undefined && { runId })
  }
  const base = surface.baseOf(reply.request)
  // The inputs of one run are adjacent: decide once per run and kind.
  let known: { key: string; may: Promise<boolean> } | undefined
  const may = ({ run, input: { kind } }: FoundInput) => {
    const key = `${kind} ${run.runId}`
    if (known?.key !== key) known = { key, may: mayAnswer(surface, run, kind, principal) }
    return known.may
  }
  const page = await collectPage<FoundInput>(
    {
      async read(some, after) {
        const more = { ...query, limit: some, ...(after !== undefined && { cursor: after }) }
        const found = await surface.runs.listInputs(more)
        return { items: found.inputs, nextCursor: found.nextCursor }
      },
      encode: async (found) => ((await may(found)) ? JSON.stringify(toItem(found, base)) : undefined),
      cursorOf: formatInputCursor
    },
    { limit, ...(cursor !== undefined && { cursor }) }
  )
  return sendPage(reply, list, page)
}

/**
 * Replies with a pending input, with all its arguments.
 * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED
 */
async function sendInput(
  surface: Surface,
  reply: FastifyReply,
  { list, toItem }: ListedInputs,
  principal: Principal,
  inputId: string
) {
  const found = await requireAnswerable(surface, list, inputId, principal)
  if (found.run.status !== 'input-required' || found.input.answer !== null) throw toLateAnswer(found)
  const { args: _, argsPreview: __, ...input } = found.input
  const item = toItem({ ...found, input }, surface.baseOf(reply.request))
  return sendPieces(
    surface.replies,
    reply,
    withMember(item, 'args', surface.runs.stores.runs.readArgs(inputId))
  )
}

/** The reply to an answer: the record of the run for its owner; for others who may answer, its state alone. */
const AnsweredRunSchema = Type.Union([
  RunRecordSchema,
  Type.Object(
    { runId: Type.String(), status: RunStatusSchema },
    { title: 'RunState', additionalProperties: false }
  )
])

/**
 * Answers a pending input, and replies with its run.
 * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED, RUN_ERR_BAD_INPUT
 */
async function answerInput(
  surface: Surface,
  reply: FastifyReply,
  { list }: ListedInputs,
  principal: Principal,
  { inputId, answer }: GivenAnswer
) {
  const { run } = await requireAnswerable(surface, list, inputId, principal)
  const answered = await surface.runs.answer(inputId, answer)
  if (reachesOwner(principal, run.owner)) return sendRecord(surface, reply, answered)
  const { runId, status } = answered
  return { runId, status }
}

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
const listApprovals = {
  ...describeOperation('list-approvals', 'Approvals that wait for the caller'),
  querystring: ApprovalQuerySchema,
  response: { 200: jsonReply('One page of approvals', ApprovalListSchema), ...errorReplies(400, 500, 503) }
}
const getApproval = {
  ...describeOperation('get-approval', 'One pending approval, with all its arguments'),
  params: ApprovalParamsSchema,
  response: {
    200: jsonReply('The approval', ApprovalSchema),
    ...errorReplies(400, 404, 409, 414, 500, 503)
  }
}
const answerApproval = {
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

  scope.get('/approvals', { schema: listApprovals, config: config }, ({ principal, query }, reply) =>
    sendInputPage(surface, reply, approvals, principal, query)
  )

  scope.get(
    '/approvals/:approvalId',
    { schema: getApproval, config: config },
    ({ params, principal }, reply) => sendInput(surface, reply, approvals, principal, params.approvalId)
  )

  scope.post(
    '/approvals/:approvalId',
    { schema: answerApproval, config: config },
    ({ params, body, principal }, reply) =>
      answerInput(surface, reply, approvals, principal, { inputId: params.approvalId, answer: body })
  )
}

/** Selects one page of pending questions and client tools. */
const InputQuerySchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Only the inputs of this run' })
    ),
    ...pageQuery
  },
  { title: 'InputQuery', additionalProperties: false }
)

/** A pending question or client tool that the caller may answer. */
const InputSchema = Type.Object(
  {
    ...PendingInputSchema.properties,
    href: Type.String({ description: 'The URL of the input with all its arguments' })
  },
  { title: 'Input' }
)

/** One page of pending questions and client tools. */
const InputListSchema = Type.Object({ inputs: Type.Array(InputSchema), nextCursor }, { title: 'InputList' })
const listInputs = {
  ...describeOperation('list-inputs', 'Questions and client tools that wait for the caller'),
  querystring: InputQuerySchema,
  response: { 200: jsonReply('One page of inputs', InputListSchema), ...errorReplies(400, 500, 503) }
}
const getInput = {
  ...describeOperation('get-input', 'One pending question or client tool, with all its arguments'),
  params: InputParamsSchema,
  response: { 200: jsonReply('The input', InputSchema), ...errorReplies(400, 404, 409, 414, 500, 503) }
}
const answerQuestion = {
  ...describeOperation(
    'answer-input',
    'Answer a question, or give the result of a client tool',
    'The content of an answer to a question must fit its `schema`; otherwise the reply is 400, and the run keeps waiting. The first answer counts.'
  ),
  params: InputParamsSchema,
  body: InputAnswerSchema,
  response: {
    200: jsonReply('The run, which continues', AnsweredRunSchema),
    ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503)
  }
}

/** `/inputs`: list the pending questions and client tools that the caller may answer, read one, answer it. */
export function inputsRoutes(scope: HttpScope, surface: Surface): void {
  const inputs: ListedInputs = {
    list: 'inputs',
    toItem: ({ run, input }, base) => ({
      ...toPendingInput(run.runId, input),
      href: `${base}/inputs/${input.inputId}`
    })
  }

  scope.get('/inputs', { schema: listInputs, config }, ({ principal, query }, reply) =>
    sendInputPage(surface, reply, inputs, principal, query)
  )

  scope.get('/inputs/:inputId', { schema: getInput, config }, ({ params, principal }, reply) =>
    sendInput(surface, reply, inputs, principal, params.inputId)
  )

  scope.post('/inputs/:inputId', { schema: answerQuestion, config }, ({ params, body, principal }, reply) =>
    answerInput(surface, reply, inputs, principal, { inputId: params.inputId, answer: body })
  )
}
