import { codeOf } from '@svc/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  invalidRequest,
  isRequest,
  MODERN,
  toErrorResponse,
  toResponse,
  type Message,
  type Request
} from '../protocol/message.ts'
import { requireRevision } from '../protocol/require-revision.ts'
import {
  clientOf,
  clientOfSession,
  createSessionId,
  encodeResult,
  Exchange,
  toRpcError
} from '../server/call.ts'
import { requireMethod } from '../server/methods.ts'
import type { Surface } from '../surface.ts'

/** Messages of a batch. */
const MAX_BATCH = 100
/** Refusals that come with a challenge, which a response of JSON-RPC has not. */
const CHALLENGED: ReadonlySet<unknown> = new Set(['MCP_ERR_FORBIDDEN', 'MCP_ERR_MISSING_SCOPE'])

/** Answers a request. @throws what has a challenge */
export async function answerRequest(
  surface: Surface,
  request: FastifyRequest,
  reply: FastifyReply,
  message: Request
): Promise<FastifyReply> {
  const exchange = new Exchange(reply, { replies: surface.replies, heartbeat: surface.heartbeat })
  try {
    const isModern = requireRevision(message, request.headers)
    if (message.method === 'initialize') reply.header('mcp-session-id', createSessionId(message.params))
    await respond(surface, request, exchange, message, isModern)
  } catch (err) {
    if (!exchange.isStream && CHALLENGED.has(codeOf(err))) throw err
    refuse(request, exchange, message, err)
  }
  return reply
}

/** Answers several messages in one, as 2025-03-26 has them, with a stream: one after another, until the client leaves. @throws RpcError if one of them may not be among others */
export async function answerBatch(
  surface: Surface,
  request: FastifyRequest,
  reply: FastifyReply,
  messages: readonly Message[]
): Promise<FastifyReply> {
  if (messages.length > MAX_BATCH) throw invalidRequest(`at most ${MAX_BATCH} messages are expected`)
  const requests = messages.filter(isRequest)
  for (const message of requests) {
    if (message.method === 'initialize') throw invalidRequest('"initialize" comes alone')
    if (requireRevision(message, request.headers)) throw invalidRequest(`requests of ${MODERN} come alone`)
  }
  if (requests.length === 0) return reply.code(202).send()
  const { replies, heartbeat } = surface
  const exchange = new Exchange(reply, { replies, heartbeat, batch: requests.length })
  const answer = (message: Request) =>
    respond(surface, request, exchange, message, false).catch((err: unknown) =>
      refuse(request, exchange, message, err)
    )
  // Calls wait for their runs together. What is read is read one after another, as fast as the client takes it.
  const calls = requests.filter(({ method }) => method === 'tools/call').map(answer)
  for (const message of requests) {
    if (message.method === 'tools/call') continue
    await exchange.taken()
    if (exchange.isLeft) break
    await answer(message)
  }
  await Promise.all(calls)
  return reply
}

async function respond(
  surface: Surface,
  { caller: principal, headers, log }: FastifyRequest,
  exchange: Exchange,
  { id, method, params }: Request,
  isModern: boolean
): Promise<void> {
  const answer = requireMethod(method, isModern)
  const client = isModern ? clientOf(params) : clientOfSession(headers['mcp-session-id'])
  const result = await answer(surface, { id, principal, headers, log, isModern, client, exchange }, params)
  exchange.respond(toResponse(id, isModern ? encodeResult(method, result, surface.identity) : result))
}

function refuse(request: FastifyRequest, exchange: Exchange, { id }: Request, err: unknown): void {
  const refusal = toRpcError(err, request)
  exchange.respond(toErrorResponse(id, refusal), refusal.status)
}
