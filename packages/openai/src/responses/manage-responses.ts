import { codeOf, isTerminalStatus } from '@svc/contract'
import { removeRun, sendJson } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_UNDER_WAY } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { pageOf, readInputItems } from './input-items.ts'
import { readResponse, requireResponse } from './read-responses.ts'
import type { ItemsQuery, ResponseParams } from './response-schemas.ts'

type OfResponse = FastifyRequest<{ Params: ResponseParams }>

/**
 * Removes the run of a response with its log.
 * @throws OPENAI_ERR_UNKNOWN_RESPONSE, OPENAI_ERR_UNDER_WAY, RUN_ERR_STORE
 */
export async function deleteResponse(
  surface: Surface,
  { params: { id }, caller }: OfResponse,
  reply: FastifyReply
): Promise<object> {
  const { runId, status } = await requireResponse(surface, id, caller, reply)
  if (!isTerminalStatus(status)) throw new OPENAI_ERR_UNDER_WAY(id)
  await removeRun(surface.runs.stores, runId)
  return { id, object: 'response', deleted: true }
}

/** Cancels the run of a response, if it is under way. @throws OPENAI_ERR_UNKNOWN_RESPONSE, RUN_ERR_STORE */
export async function cancelResponse(
  surface: Surface,
  request: OfResponse,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { id } = request.params
  const { runId } = await requireResponse(surface, id, request.caller, reply)
  await surface.runs.cancel(runId).catch((err: unknown) => {
    if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
  })
  return sendJson(surface.replies, reply, await readResponse(surface, id, request, reply))
}

/** A page of what a response was asked. @throws OPENAI_ERR_UNKNOWN_RESPONSE, OPENAI_ERR_BAD_REQUEST, RUN_ERR_STORE */
export async function listInputItems(
  surface: Surface,
  { params: { id }, query, caller }: FastifyRequest<{ Params: ResponseParams; Querystring: ItemsQuery }>,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { runId } = await requireResponse(surface, id, caller, reply)
  const items = await readInputItems(surface.runs.stores, runId, id)
  return sendJson(surface.replies, reply, pageOf(items, query))
}
