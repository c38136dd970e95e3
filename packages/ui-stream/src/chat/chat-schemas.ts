import { STATUS_CODES } from 'node:http'
import { Type, type Static } from '@sinclair/typebox'
import { IdSchema, RunBodySchema } from '@svc/contract'
import { eventsReply, jsonReply, partialQuery, type ConversationWire } from '@svc/surface'
import { UiChunkSchema } from '../wire/chunks.ts'
import { UiMessageSchema } from '../wire/messages.ts'

const run = RunBodySchema.properties

/** The request of `DefaultChatTransport`, and what of a run a page may add with its `body`. Unknown fields are ignored. */
export const ChatBodySchema = Type.Object(
  {
    id: Type.String({ ...IdSchema, description: 'Of the chat, which is a session' }),
    messages: Type.Array(UiMessageSchema, {
      minItems: 1,
      description: 'The last one is sent, or has the answers; the session keeps those before'
    }),
    trigger: Type.Optional(
      Type.Union([Type.Literal('submit-message'), Type.Literal('regenerate-message')], {
        description: 'Default `submit-message`'
      })
    ),
    messageId: Type.Optional(
      Type.String({ description: 'The message that is edited, regenerated or continued' })
    ),
    userId: run.userId,
    apiKey: run.apiKey,
    onDisconnect: run.onDisconnect,
    whenBusy: run.whenBusy,
    metadata: run.metadata,
    instructions: run.instructions,
    tools: run.tools
  },
  { title: 'ChatBody' }
)
export type ChatBody = Static<typeof ChatBodySchema>

/** The query of a message. */
export const SendQuerySchema = Type.Object(partialQuery)

/** The query of the run under way. */
export const ResumeQuerySchema = Type.Object(
  { userId: run.userId, ...partialQuery },
  { additionalProperties: false }
)

export const HistoryQuerySchema = Type.Object(
  {
    userId: run.userId,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        description: 'About this many messages of the session, in whole turns; default 100'
      })
    ),
    before: Type.Optional(Type.String({ description: 'The `nextCursor` of the page after' })),
    branch: Type.Optional(Type.String({ description: 'The id of an answer: the newest branch that has it' }))
  },
  { additionalProperties: false }
)
export type HistoryQuery = Static<typeof HistoryQuerySchema>

const HistorySchema = Type.Object(
  {
    messages: Type.Array(UiMessageSchema, { description: 'Oldest first' }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Of the page before; null if there is none'
    })
  },
  { title: 'ChatHistory' }
)

/** The body of an error. */
const ErrorBodySchema = Type.Object(
  {
    statusCode: Type.Integer(),
    code: Type.String({ description: 'Stable; see the list of error codes' }),
    error: Type.String(),
    message: Type.String(),
    requestId: Type.String(),
    errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    runId: Type.Optional(Type.String())
  },
  { title: 'Error' }
)

/** The name of a status. */
export function titleOf(statusCode: number): string {
  return STATUS_CODES[statusCode] ?? (statusCode < 500 ? 'Client Error' : 'Server Error')
}

const failures = {
  '4xx': jsonReply('Refused', ErrorBodySchema),
  '5xx': jsonReply('Failed', ErrorBodySchema)
}
const stream = eventsReply(
  'A UI message stream: each message has the JSON of a chunk; the last one is `[DONE]`',
  UiChunkSchema
)

/** The replies of each route. */
export const REPLIES = {
  stream: { 200: stream, ...failures },
  resumed: { 200: stream, 204: Type.Null({ description: 'Nothing runs' }), ...failures },
  history: { 200: jsonReply('The messages', HistorySchema), ...failures }
}

/** Chats as the wire serves them. */
export const CHATS: ConversationWire = {
  path: '/chat',
  below: [],
  id: 'id',
  running: 'stream',
  owner: 'message',
  title: 'Chat',
  tag: 'Chats',
  failures
}
