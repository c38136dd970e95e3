import type { FastifyReply } from 'fastify'
import { requireAllowed, requireExposed, sendJson } from '@svc/registry/kit'
import { findActiveRun } from '@svc/registry/wire-kit'
import { OPENAI_ERR_BAD_REQUEST } from '../errors.ts'
import { readModel } from '../models/model-name.ts'
import type { Surface } from '../surface.ts'
import { findWaitingRun } from '../wire/find-waiting-run.ts'
import { continueRun } from './continue-run.ts'
import { resolveReferences } from './item-references.ts'
import { readInput } from './read-input.ts'
import { followResponse, requireResponseRun } from './read-responses.ts'
import { readWait } from './read-wait.ts'
import { toResponseId, type ResponsePlace } from './response-id.ts'
import { toParameters } from './response-parameters.ts'
import type { CreateRequest } from './response-schemas.ts'
import { viewIn } from './run-items.ts'
import { sendResponseStream } from './send-response-stream.ts'
import { startRun } from './start-run.ts'

/**
 * Creates a response: continues the run that waits for what the input answers, else starts one.
 * @throws OPENAI_ERR_* of requests, and the errors of `RunEngine.start` and `RunEngine.answer`
 */
export async function createResponse(
  surface: Surface,
  request: CreateRequest,
  reply: FastifyReply
): Promise<unknown> {
  const place = await findPlace(surface, request, reply)
  const { stream, background } = request.body
  const { runId } = place
  const asked = { id: toResponseId(place), parameters: toParameters(request.body) }
  void reply.header('x-run-id', runId)
  if (stream) return sendResponseStream(surface, { runId, ...asked }, request, reply)
  const until = background ? 'begun' : 'over'
  const response = await followResponse(surface, runId, asked, viewIn(surface, request), until)
  return sendJson(surface.replies, reply, response)
}

/** Where the response begins that a request asks for. */
async function findPlace(
  surface: Surface,
  request: CreateRequest,
  reply: FastifyReply
): Promise<ResponsePlace> {
  const { body, caller: principal } = request
  const { model, previous_response_id: previousId, conversation, background, store } = body
  if (previousId && conversation)
    throw new OPENAI_ERR_BAD_REQUEST('previous_response_id and conversation exclude each other')
  if (background && store === false)
    throw new OPENAI_ERR_BAD_REQUEST('background needs a response that is stored')
  const { kind, name } = readModel(model)
  await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = requireExposed(surface, kind, name)
  const input = await resolveReferences(surface, body.input, principal)
  const read = readInput({ ...body, input })
  const isAnswer = read.outputs.length > 0 || read.approvals.length > 0

  if (previousId) {
    const previous = await requireResponseRun(surface, previousId, principal)
    if (previous.kind !== kind || previous.name !== name)
      throw new OPENAI_ERR_BAD_REQUEST(`previous_response_id is not of the model "${model}"`)
    const wait = await readWait(surface, previous, previousId)
    if (wait !== undefined && (isAnswer || wait.isOpen))
      return continueRun(surface, wait, read, request, reply)
    if (isAnswer) throw new OPENAI_ERR_BAD_REQUEST('input: the previous response waits for no output')
    return startRun(surface, runnable, read, { previous }, request, reply)
  }
  if (conversation) {
    const sessionId = typeof conversation === 'string' ? conversation : conversation.id
    const active = await findActiveRun(surface, { kind, name, sessionId }, principal)
    const wait = active && (await readWait(surface, active))
    if (wait !== undefined) return continueRun(surface, wait, read, request, reply)
    if (isAnswer) throw new OPENAI_ERR_BAD_REQUEST('input: the conversation waits for no output')
    return startRun(surface, runnable, read, { sessionId }, request, reply)
  }
  // Clients that send whole conversations name no response.
  const ids = [
    ...read.outputs.map(({ callId }) => callId),
    ...read.approvals.map(({ approvalId }) => approvalId)
  ]
  const found = await findWaitingRun(surface, { kind, name }, ids, principal)
  const wait = found && (await readWait(surface, found))
  if (wait !== undefined) return continueRun(surface, wait, read, request, reply)
  return startRun(surface, runnable, read, {}, request, reply)
}
