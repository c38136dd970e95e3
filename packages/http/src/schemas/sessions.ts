import { Type } from '@sinclair/typebox'
import {
  IdSchema,
  MAX_NAME_LENGTH,
  RunnableKindSchema,
  SessionEntrySchema,
  SessionSchema,
  TurnBranchesSchema
} from '@svc/contract'
import { partialQuery } from '@svc/surface'
import { nextCursor, pageQuery } from './parameters.ts'

// The cursors of sessions have their keys.
const MAX_CURSOR = 4_096
const userId = Type.Optional(
  Type.String({
    ...IdSchema,
    description: 'Of callers without credentials: the `userId` of their runs. Others have their own sessions'
  })
)
const cursor = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: MAX_CURSOR, description }))
const strict = { additionalProperties: false } as const

/** Selects one page of sessions. */
export const SessionQuerySchema = Type.Object(
  {
    limit: pageQuery.limit,
    cursor: cursor('`nextCursor` of the previous page'),
    kind: Type.Optional(RunnableKindSchema),
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, description: 'Of the runnable' })
    ),
    userId
  },
  { title: 'SessionQuery', ...strict }
)

/** Path parameters of a session. */
export const SessionParamsSchema = Type.Object({
  kind: RunnableKindSchema,
  name: Type.String({ description: 'The runnable of the conversation' }),
  sessionId: Type.String({ description: 'From `GET /sessions`, a `start` part or a result' })
})

/** Whose session it is. */
export const SessionOwnerSchema = Type.Object({ userId }, { title: 'SessionOwnerQuery', ...strict })

/** What happens to a compaction while a run has the turn of its session. */
export const CompactionQuerySchema = Type.Object(
  {
    whenBusy: Type.Optional(
      Type.Union([Type.Literal('queue'), Type.Literal('reject')], {
        description:
          'While another run of the session is under way: `queue`, the default, waits, `reject` is 409'
      })
    ),
    userId
  },
  { title: 'CompactionQuery', ...strict }
)

/** How a session is removed. */
export const SessionRemovalSchema = Type.Object(
  {
    forks: Type.Optional(
      Type.Union([Type.Literal('true'), Type.Literal('false')], {
        description: 'Whether its forks, and theirs, go too; default `false`'
      })
    ),
    userId
  },
  { title: 'SessionRemovalQuery', ...strict }
)

/** What stays of a session that was removed. */
export const SharedMessagesSchema = Type.Object(
  { shared: Type.Integer({ description: 'The messages that forks keep; they go with the last one' }) },
  { title: 'SharedMessages' }
)

/** Selects one page of messages. */
export const MessageQuerySchema = Type.Object(
  {
    limit: pageQuery.limit,
    before: cursor('`nextCursor` of the previous page; default the newest messages'),
    branch: Type.Optional(
      Type.String({
        ...IdSchema,
        description: 'A run with a turn on the branch to read; default the branch of the newest turn'
      })
    ),
    userId
  },
  { title: 'MessageQuery', ...strict }
)

/** Selects the place from which a session is followed. */
export const ChannelQuerySchema = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        description:
          'Like `Last-Event-ID`, which takes precedence; `0.0` for the first run. Default the run under way, or the next one'
      })
    ),
    ...partialQuery,
    userId
  },
  { title: 'ChannelQuery', ...strict }
)

/** One page of sessions, last changed first. */
export const SessionListSchema = Type.Object(
  { sessions: Type.Array(SessionSchema), nextCursor },
  { title: 'SessionList' }
)

/** A session with a page of its messages. */
export const SessionDetailSchema = Type.Object(
  {
    ...SessionSchema.properties,
    messages: Type.Array(SessionEntrySchema, { description: 'Oldest first' }),
    branches: Type.Array(TurnBranchesSchema, {
      description: 'Where the session divides after these messages: the turns that follow the same turn'
    }),
    nextCursor: Type.Unsafe<string | null>({
      ...nextCursor,
      description: 'For `before`: the page of older messages; null if there are none'
    }),
    lastEventId: Type.String({
      description: 'The stream of the session continues after these messages from here'
    })
  },
  { title: 'SessionDetail' }
)
