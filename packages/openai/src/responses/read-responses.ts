import { codeOf, isTerminalStatus, type Principal, type RunSummary } from '@svc/contract'
import { RUN_ERR_NOT_FOUND, RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import { readPresent, requireRun, reserveMemory } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_UNKNOWN_RESPONSE } from '../errors.ts'
import type { Surface } from '../surface.ts'
import type { ResponseObject } from '../wire/response-object.ts'
import { ResponseBuilder, type AskedResponse } from './response-builder.ts'
import { isStored, readResponseId, toResponseId } from './start-run.ts'
import { viewIn, type ResponseView } from './run-items.ts'

/**
 * The run of a response that the caller reaches and may find later.
 * @param isKept true if the connection keeps the response, stored or not
 * @throws OPENAI_ERR_UNKNOWN_RESPONSE, RUN_ERR_STORE
 */
export async function requireResponseRun(
  surface: Surface,
  id: string,
  principal: Principal,
  isKept = false
): Promise<RunSummary> {
  const place = readResponseId(id)
  if (place === undefined) throw new OPENAI_ERR_UNKNOWN_RESPONSE(id)
  const run = await requireRun(surface, place.runId, principal).catch((err: unknown) => {
    throw codeOf(err) === codeOf(new RUN_ERR_NOT_FOUND('')) ? new OPENAI_ERR_UNKNOWN_RESPONSE(id) : err
  })
  if (!isKept && !isStored(run)) throw new OPENAI_ERR_UNKNOWN_RESPONSE(id)
  return run
}

/** The responses of a run as far as its log is now, up to the one with an id. */
async function readBuilder(
  { runs }: Pick<Surface, 'runs'>,
  runId: string,
  id: string,
  view?: ResponseView
): Promise<ResponseBuilder> {
  const builder = new ResponseBuilder(view)
  for await (const { part } of readPresent(runs.stores, runId)) {
    builder.add(part)
    if (builder.isOver && builder.id === id) break
  }
  return builder
}

/** A response as it is now. @throws OPENAI_ERR_UNKNOWN_RESPONSE, RUN_ERR_STORE */
export async function readResponse(
  surface: Surface,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<ResponseObject> {
  const { caller } = request
  const { runId, bytes } = await requireResponseRun(surface, id, caller)
  await reserveMemory(reply.raw, caller.sub, bytes)
  const builder = await readBuilder(surface, runId, id, viewIn(surface, request))
  if (builder.id !== id) throw new OPENAI_ERR_UNKNOWN_RESPONSE(id)
  return builder.build()
}

/**
 * The run of a response that the caller reaches, whose log has the response or is about to have it.
 * @throws OPENAI_ERR_UNKNOWN_RESPONSE, RUN_ERR_STORE
 */
export async function requireResponse(
  surface: Surface,
  id: string,
  principal: Principal,
  reply: FastifyReply
): Promise<RunSummary> {
  const run = await requireResponseRun(surface, id, principal)
  const { runId, status, bytes } = run
  // A run under way is followed for as long as it lasts.
  if (isTerminalStatus(status)) await reserveMemory(reply.raw, principal.sub, bytes)
  const builder = new ResponseBuilder()
  for await (const { part } of readPresent(surface.runs.stores, runId)) {
    builder.add(part)
    if (builder.id === id) return run
  }
  const isNext = builder.isPaused && toResponseId({ runId, after: builder.run.seq }) === id
  if (!isNext) throw new OPENAI_ERR_UNKNOWN_RESPONSE(id)
  return run
}

/**
 * Follows a run until the response has begun, or is over.
 * @throws RUN_ERR_SUSPENDED if the service closes before, RUN_ERR_STORE
 */
export async function followResponse(
  { runs }: Pick<Surface, 'runs'>,
  runId: string,
  asked: AskedResponse,
  view: ResponseView,
  until: 'begun' | 'over'
): Promise<ResponseObject> {
  const builder = new ResponseBuilder(view, asked)
  for await (const part of runs.parts(runId)) {
    builder.add(part)
    if (builder.id === asked.id && (until === 'begun' || builder.isOver)) return builder.build()
  }
  throw runs.faultOf(runId) ?? new RUN_ERR_SUSPENDED()
}
