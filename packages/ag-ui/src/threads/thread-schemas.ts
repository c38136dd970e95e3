import { Type, type Static } from '@sinclair/typebox'
import { RunBodySchema } from '@svc/contract'
import { eventsReply, jsonReply, partialQuery, type ConversationWire } from '@svc/surface'
import { AgUiEventSchema } from '../wire/events.ts'

const { userId } = RunBodySchema.properties

/** The query of a message. */
export const RunQuerySchema = Type.Object(partialQuery)

export const ConnectQuerySchema = Type.Object(
  {
    userId,
    protocolVersion: Type.Optional(
      Type.String({ maxLength: 32, description: 'That of the client; absent before version 1.0' })
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        description: 'About this many messages of the session, in whole turns; default 100'
      })
    ),
    ...partialQuery
  },
  { additionalProperties: false }
)
export type ConnectQuery = Static<typeof ConnectQuerySchema>

/** The body of an error, which is an event of the protocol. */
const ErrorBodySchema = Type.Object(
  {
    type: Type.Literal('RUN_ERROR'),
    message: Type.String(),
    code: Type.String({ description: 'Stable; see the list of error codes' }),
    metadata: Type.Object({
      statusCode: Type.Integer(),
      requestId: Type.String(),
      errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
      runId: Type.Optional(Type.String())
    })
  },
  { title: 'Error' }
)

const failures = {
  '4xx': jsonReply('Refused', ErrorBodySchema),
  '5xx': jsonReply('Failed', ErrorBodySchema)
}
const stream = (description: string) => eventsReply(description, AgUiEventSchema)

/** The replies of each route. */
export const REPLIES = {
  run: { 200: stream('The events of the run: each message has the JSON of one'), ...failures },
  connected: { 200: stream('The events of the runs of the thread; none if it has none'), ...failures }
}

/** Threads as the wire serves them. */
export const THREADS: ConversationWire = {
  path: '/ag-ui',
  below: ['threads'],
  id: 'threadId',
  running: 'run',
  owner: 'thread',
  title: 'Run',
  tag: 'Runs',
  failures
}
