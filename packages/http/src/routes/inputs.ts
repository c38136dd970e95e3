import { Type, type TObject } from '@sinclair/typebox'
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
  type InputList,
  jsonReply
} from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { describeOperation, errorReplies } from '../openapi/describe-operation.ts'
import { collectPage, sendPage, type PageQuery } from '../replies/collect-page.ts'
import { sendRecord, withMember } from '../replies/run-records.ts'
import { nextCursor, pageQuery } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** A list of inputs as clients see it. */
interface InputView {
  readonly list: InputList
  readonly noun: 'approval' | 'input'
  readonly item: TObject
  readonly toItem: (runId: string, input: FoundInput['input']) => object
  readonly answer: typeof ApprovalAnswerSchema | typeof InputAnswerSchema
  /** The part that asks. */
  readonly part: string
  readonly texts: { readonly list: string; readonly get: string; readonly answer: readonly [string, string?] }
}

/** An approval is an input, with an address and an answer of its own. */
const APPROVALS: InputView = {
  list: 'approvals',
  noun: 'approval',
  item: PendingApprovalSchema,
  toItem: toPendingApproval,
  answer: ApprovalAnswerSchema,
  part: 'a `tool.approval.request`',
  texts: {
    list: 'Approvals that wait for the caller',
    get: 'One pending approval, with all its arguments',
    answer: ['Approve or deny a tool call']
  }
}

const OTHERS: InputView = {
  list: 'inputs',
  noun: 'input',
  item: PendingInputSchema,
  toItem: toPendingInput,
  answer: InputAnswerSchema,
  part: 'an `input.request`',
  texts: {
    list: 'Questions and client tools that wait for the caller',
    get: 'One pending question or client tool, with all its arguments',
    answer: [
      'Answer a question, or give the result of a client tool',
      'The content of an answer to a question must fit its `schema`; otherwise the reply is 400, and the run keeps waiting. The first answer counts.'
    ]
  }
}

/** The reply to an answer: the record of the run for its owner; for others who may answer, its state alone. */
const AnsweredRunSchema = Type.Union([
  RunRecordSchema,
  Type.Object(
    { runId: Type.String(), status: RunStatusSchema },
    { title: 'RunState', additionalProperties: false }
  )
])

/** `/approvals` and `/inputs`: list the pending inputs that the caller may answer, read one, answer it. */
export function inputsRoutes(scope: HttpScope, surface: Surface): void {
  for (const view of [APPROVALS, OTHERS]) viewRoutes(scope, surface, view)
}

function viewRoutes(scope: HttpScope, surface: Surface, view: InputView): void {
  const { list, noun } = view
  const idName = `${noun}Id`
  const config = { access: 'authenticated' } as const
  const schemas = describeView(view, idName)

  scope.get(`/${list}`, { schema: schemas.list, config }, ({ principal, query }, reply) =>
    sendInputPage(surface, reply, view, principal, query)
  )

  scope.get(`/${list}/:${idName}`, { schema: schemas.get, config }, ({ params, principal }, reply) =>
    sendInput(surface, reply, view, principal, params[idName]!)
  )

  scope.post(
    `/${list}/:${idName}`,
    { schema: schemas.answer, config },
    ({ params, body, principal }, reply) =>
      answerInput(surface, reply, view, principal, { inputId: params[idName]!, answer: body })
  )
}

function describeView({ list, noun, item, answer, part, texts }: InputView, idName: string) {
  const title = noun === 'approval' ? 'Approval' : 'Input'
  const shown = Type.Object(
    {
      ...item.properties,
      href: Type.String({ description: `The URL of the ${noun} with all its arguments` })
    },
    { title }
  )
  const runId = Type.String({ minLength: 1, maxLength: 256, description: `Only the ${list} of this run` })
  const params = Type.Object({
    [idName]: Type.String({ description: `From \`GET /${list}\` or ${part} part` })
  })
  return {
    list: {
      ...describeOperation(`list-${list}`, texts.list),
      querystring: Type.Object(
        { runId: Type.Optional(runId), ...pageQuery },
        { title: `${title}Query`, additionalProperties: false }
      ),
      response: {
        200: jsonReply(
          `One page of ${list}`,
          Type.Object({ [list]: Type.Array(shown), nextCursor }, { title: `${title}List` })
        ),
        ...errorReplies(400, 500, 503)
      }
    },
    get: {
      ...describeOperation(`get-${noun}`, texts.get),
      params,
      response: { 200: jsonReply(`The ${noun}`, shown), ...errorReplies(400, 404, 409, 414, 500, 503) }
    },
    answer: {
      ...describeOperation(`answer-${noun}`, ...texts.answer),
      params,
      body: answer,
      response: {
        200: jsonReply('The run, which continues', AnsweredRunSchema),
        ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503)
      }
    }
  }
}

// @param base what its link begins with
function toItem({ list, toItem: toShown }: InputView, { run, input }: FoundInput, base: string): object {
  return { ...toShown(run.runId, input), href: `${base}/${list}/${input.inputId}` }
}

/** Replies with a page of the pending inputs that the caller may answer. */
async function sendInputPage(
  surface: Surface,
  reply: FastifyReply,
  view: InputView,
  principal: Principal,
  { limit, cursor, runId }: PageQuery & { runId?: string }
) {
  const { list } = view
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
        const { inputs: items, ...next } = await surface.runs.listInputs(more)
        return { items, ...next }
      },
      encode: async (found) => ((await may(found)) ? JSON.stringify(toItem(view, found, base)) : undefined),
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
  view: InputView,
  principal: Principal,
  inputId: string
) {
  const found = await requireAnswerable(surface, view.list, inputId, principal)
  if (found.run.status !== 'input-required' || found.input.answer !== null) throw toLateAnswer(found)
  const { args: _, argsPreview: __, ...input } = found.input
  const item = toItem(view, { ...found, input }, surface.baseOf(reply.request))
  return sendPieces(
    surface.replies,
    reply,
    withMember(item, 'args', surface.runs.stores.runs.readArgs(inputId))
  )
}

/**
 * Answers a pending input, and replies with its run.
 * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED, RUN_ERR_BAD_INPUT
 */
async function answerInput(
  surface: Surface,
  reply: FastifyReply,
  view: InputView,
  principal: Principal,
  { inputId, answer }: GivenAnswer
) {
  const { run } = await requireAnswerable(surface, view.list, inputId, principal)
  const answered = await surface.runs.answer(inputId, answer)
  if (reachesOwner(principal, run.owner)) return sendRecord(surface, reply, answered)
  const { runId, status } = answered
  return { runId, status }
}
