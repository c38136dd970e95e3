import { Type } from '@sinclair/typebox'
import {
  reachesOwner,
  RunRecordSchema,
  RunStatusSchema,
  toLateAnswer,
  type FoundInput,
  type Principal
} from '@svc/contract'
import {
  LISTED_KINDS,
  mayAnswer,
  requireAnswerable,
  seesAllOf,
  sendPieces,
  type GivenAnswer,
  type InputList
} from '@svc/surface'
import { formatInputCursor } from '@svc/contract/stores'
import type { FastifyReply } from 'fastify'
import { collectPage, sendPage, type PageQuery } from '../replies/collect-page.ts'
import { sendRecord, withMember } from '../replies/run-records.ts'
import type { Surface } from '../surface.ts'

/** How a list shows its items. */
export interface ListedInputs {
  readonly list: InputList
  /** An item as clients see it. @param base what its link begins with */
  readonly toItem: (found: FoundInput, base: string) => object
}

/** Replies with a page of the pending inputs that the caller may answer. */
export async function sendInputPage(
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
        const { inputs, nextCursor } = await surface.runs.listInputs(more)
        return { items: inputs, nextCursor }
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
export async function sendInput(
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
export const AnsweredRunSchema = Type.Union([
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
export async function answerInput(
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
