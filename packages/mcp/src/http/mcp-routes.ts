import { Type } from '@sinclair/typebox'
import { jsonReply } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { takeAnswer } from '../inputs/elicitation.ts'
import {
  idOf,
  IdSchema,
  invalidRequest,
  isNotification,
  isRequest,
  isResponse,
  RPC_CODES,
  RpcError,
  toErrorResponse,
  type Message
} from '../protocol/message.ts'
import { toRpcError } from '../server/call.ts'
import type { Surface } from '../surface.ts'
import { answerBatch, answerRequest } from './answer-request.ts'
import { HIDDEN, placesOf } from './guard-origins.ts'

const object = (description: string) => Type.Optional(Type.Object({}, { description }))

/** A message of JSON-RPC 2.0. What it says is validated by the method, and by the revision. */
const MessageSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(IdSchema),
    method: Type.Optional(
      Type.String({ description: 'Of a request or notification, such as `tools/call` or `server/discover`' })
    ),
    params: object('Since 2026-07-28, `_meta` names the revision, the client and what it can do'),
    result: object('Of a response: a client of 2025-11-25 answers an elicitation'),
    error: object('Of a response')
  },
  { title: 'McpMessage' }
)

/** The body of a request; only revisions before 2025-06-18 have several messages in one. */
const BodySchema = Type.Union([MessageSchema, Type.Array(MessageSchema, { minItems: 1 })])

/** The body of an error. */
const ErrorSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([IdSchema, Type.Null()]),
    error: Type.Object({
      code: Type.Integer(),
      message: Type.String(),
      data: Type.Optional(
        Type.Object({ code: Type.String({ description: 'Stable; see the list of error codes' }) })
      )
    })
  },
  { title: 'McpError' }
)

/** The route as OpenAPI describes it. */
const MESSAGE_ROUTE = {
  operationId: 'sendMcpMessage',
  tags: ['MCP'],
  summary: 'Send a message of the Model Context Protocol',
  description:
    'Streamable HTTP of the revisions 2026-07-28 and 2025-11-25. `Accept` names `application/json` and `text/event-stream`; since 2026-07-28, the headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` repeat what the body says. `server/discover`, or `initialize`, says what the server offers; `tools/list` lists the agents, teams and workflows.',
  body: BodySchema,
  response: {
    200: {
      description: 'The response, after notifications and requests on a stream',
      content: {
        'application/json': { schema: MessageSchema },
        'text/event-stream': { schema: MessageSchema }
      }
    },
    202: Type.Null({ description: 'A notification or a response was taken' }),
    '4xx': jsonReply('Refused', ErrorSchema),
    '5xx': jsonReply('Failed', ErrorSchema)
  }
}

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
