import { Type, type Static } from '@sinclair/typebox'
import { IdSchema, MAX_NAME_LENGTH, RunnableKindSchema, SessionSchema, type Session } from '@svc/contract'
import { OkSchema, type ClientListener, type Ok } from './acknowledgements.ts'

const strict = { additionalProperties: false } as const
const name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, description: 'Of the runnable' })
const userId = Type.Optional(
  Type.String({ ...IdSchema, description: 'Of callers without credentials: the `userId` of their runs' })
)
/** The choice of partial objects. */
export const partial = {
  partial: Type.Optional(
    Type.Boolean({
      description:
        'True to receive the object that the agent is writing, as `agent.partial`, at most every 50 ms; default false'
    })
  )
}
const reference = { kind: RunnableKindSchema, name, sessionId: IdSchema, userId }

/** `session.list`: a page of your sessions, last changed first. */
export const SessionListEventSchema = Type.Object(
  {
    kind: Type.Optional(RunnableKindSchema),
    name: Type.Optional(name),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 20' })),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_096, description: '`nextCursor` of the previous page' })
    ),
    userId
  },
  { ...strict, title: 'SessionListEvent' }
)
export type SessionListEvent = Static<typeof SessionListEventSchema>

/** `session.watch`: follows a session over all its runs, also those that others start. */
export const SessionWatchEventSchema = Type.Object(
  {
    ...reference,
    after: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description:
          'The `id` of the last received event; `0.0` for the first run. Default the run under way, or the next one'
      })
    ),
    ...partial
  },
  { ...strict, title: 'SessionWatchEvent' }
)
export type SessionWatchEvent = Static<typeof SessionWatchEventSchema>

/** `session.compact`: has a summary replace the oldest messages of a session in later prompts. */
export const SessionCompactEventSchema = Type.Object(
  {
    ...reference,
    whenBusy: Type.Optional(
      Type.Union([Type.Literal('queue'), Type.Literal('reject')], {
        description: 'While another run of the session is under way: `queue`, the default, waits'
      })
    )
  },
  { ...strict, title: 'SessionCompactEvent' }
)
export type SessionCompactEvent = Static<typeof SessionCompactEventSchema>

/** `session.unwatch`: follows a session no longer. */
export const SessionUnwatchEventSchema = Type.Object(reference, { ...strict, title: 'SessionUnwatchEvent' })
export type SessionUnwatchEvent = Static<typeof SessionUnwatchEventSchema>

/** The acknowledgement of `session.list`. */
const SessionPageSchema = Type.Object(
  {
    sessions: Type.Array(SessionSchema),
    nextCursor: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'null on the last page' })
  },
  { title: 'SessionPage' }
)

/** The acknowledgement of a followed session. */
const SessionWatchedSchema = Type.Object(
  { id: Type.String({ description: 'The place from which it is followed' }), session: SessionSchema },
  { title: 'SessionWatched' }
)

/** The acknowledgement of a compaction, once it has ended. */
const SessionCompactedSchema = Type.Object(
  {
    runId: Type.String({ description: 'The run that has compacted it' }),
    messages: Type.Integer({
      description: 'How many messages later prompts leave out; 0 if there was nothing to leave out'
    })
  },
  { title: 'SessionCompacted' }
)
type SessionCompacted = Static<typeof SessionCompactedSchema>

/** The schemas of clients' events about sessions. */
export const SESSION_CLIENT_EVENTS = {
  'session.list': SessionListEventSchema,
  'session.compact': SessionCompactEventSchema,
  'session.watch': SessionWatchEventSchema,
  'session.unwatch': SessionUnwatchEventSchema
} as const

/** The schemas of the acknowledgements of these events. */
export const SESSION_ACKNOWLEDGEMENTS = {
  'session.list': SessionPageSchema,
  'session.compact': SessionCompactedSchema,
  'session.watch': SessionWatchedSchema,
  'session.unwatch': OkSchema
} as const

/** The events of clients about sessions. */
export interface SessionClientEvents {
  'session.list': ClientListener<SessionListEvent, { sessions: Session[]; nextCursor: string | null }>
  'session.compact': ClientListener<SessionCompactEvent, SessionCompacted>
  'session.watch': ClientListener<SessionWatchEvent, { id: string; session: Session }>
  'session.unwatch': ClientListener<SessionUnwatchEvent, Ok>
}
