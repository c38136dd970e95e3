import { Type, type Static } from '@sinclair/typebox'
import { IdSchema } from '@svc/contract'
import { PREVIEWED, SentEventSchema, SessionEventSchema, UserEventSchema } from '../wire/events.ts'
import { CREATED, listQueryOf, pageOf, queryOf, repeated } from '../wire/lists.ts'

const type = Type.String({ maxLength: 64 })
const preview = Type.Union(PREVIEWED.map((each) => Type.Literal(each)))

export const EventsQuerySchema = listQueryOf({
  ...CREATED,
  order: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc')], { description: 'Default `asc`' })
  ),
  types: repeated(type),
  'types[]': repeated(type)
})
export type EventsQuery = Static<typeof EventsQuerySchema>

export const StreamQuerySchema = queryOf({
  event_deltas: repeated(preview),
  'event_deltas[]': repeated(preview),
  after: Type.Optional(Type.String({ maxLength: 64, description: 'As the header `Last-Event-ID`' }))
})
export type StreamQuery = Static<typeof StreamQuerySchema>

export const StreamHeadersSchema = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ maxLength: 64, description: 'The `id` of the last message that the client has' })
  )
})

export const EventsSchema = pageOf(SessionEventSchema, 'SessionEvents')

export const SendBodySchema = Type.Object(
  { events: Type.Array(SentEventSchema, { minItems: 1, maxItems: 50 }) },
  { title: 'SendEvents', additionalProperties: false }
)
export type SendBody = Static<typeof SendBodySchema>
export const SentEventsSchema = Type.Object({ data: Type.Array(UserEventSchema) }, { title: 'SentEvents' })

export const ThreadParamsSchema = Type.Object({ session_id: IdSchema, thread_id: IdSchema })
export type ThreadParams = Static<typeof ThreadParamsSchema>
