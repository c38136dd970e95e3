import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { takeAnswer } from '../inputs/take-answer.ts'
import {
  idOf,
  isNotification,
  isRequest,
  isResponse,
  toErrorResponse,
  type Message
} from '../protocol/message.ts'
import { invalidRequest, RPC_CODES, RpcError } from '../protocol/rpc-error.ts'
import { toRpcError } from '../server/to-rpc-error.ts'
import type { Surface } from '../surface.ts'
import { answerBatch, answerRequest } from './answer-request.ts'
import { HIDDEN, placesOf } from './guard-origins.ts'
import { MESSAGE_ROUTE } from './message-schemas.ts'

/** Adds the endpoint: Streamable HTTP of the revisions 2026-07-28 and 2025-11-25, without sessions. */
export function mcpRoutes(scope: FastifyInstance, surface: Surface, path: string): void {
  const hidden = { schema: HIDDEN, exposeHeadRoute: false }
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      return await take(surface, request, reply)
    } catch (err) {
      if (!(err instanceof RpcError)) throw err
      return refuse(toRpcError(err, request), request, reply)
    }
  }
  scope.post(path, { schema: MESSAGE_ROUTE }, answer)
  for (const place of placesOf(scope, path)) {
    scope.get(place, hidden, refuseMethod)
    scope.delete(place, hidden, refuseMethod)
    if (place !== path) scope.post(place, { schema: { ...MESSAGE_ROUTE, ...HIDDEN } }, answer)
  }
}

// Streams that no request has opened, and the end of sessions.
function refuseMethod(request: FastifyRequest, reply: FastifyReply) {
  reply.header('allow', 'POST')
  return refuse(new RpcError(RPC_CODES.Refused, 'Method not allowed', { status: 405 }), request, reply)
}

function refuse(err: RpcError, { body }: FastifyRequest, reply: FastifyReply) {
  return reply.code(err.status).send(toErrorResponse(idOf(body), err))
}

async function take(surface: Surface, request: FastifyRequest, reply: FastifyReply) {
  const { body } = request as { body: Message | Message[] }
  if (Array.isArray(body)) return answerBatch(surface, request, reply, body)
  if (isRequest(body)) return answerRequest(surface, request, reply, body)
  if (isResponse(body)) await takeAnswer(surface, request, body)
  // What clients notify of changes nothing here.
  else if (!isNotification(body)) throw invalidRequest('it is no message of JSON-RPC')
  return reply.code(202).send()
}
