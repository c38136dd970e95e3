import { Type } from '@sinclair/typebox'
import { jsonReply } from '@svc/surface'
import { IdSchema } from '../protocol/message.ts'

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
export const MESSAGE_ROUTE = {
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
