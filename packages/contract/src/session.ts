import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'
import { SessionMessageSchema } from './ports/session-store.ts'
import { IdSchema } from './run-body.ts'
import { RunMetadataSchema } from './part.ts'

const MAX_TITLE = 200

const time = (description: string) => Type.String({ format: 'date-time', description })

/** A session as clients see it. Times are ISO 8601 in UTC. */
export const SessionSchema = Type.Object(
  {
    sessionId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String({ description: 'The runnable of the conversation' }),
    title: Type.Optional(
      Type.String({ description: 'The beginning of the first message, unless its owner gave one' })
    ),
    createdAt: time('When it was created, or its first run began'),
    updatedAt: time('When a run last began, a turn was saved, or it was changed'),
    turns: Type.Integer({ description: 'The number of saved turns' }),
    activeRun: Type.Optional(Type.String({ description: 'The run that has the turn' })),
    metadata: Type.Optional(RunMetadataSchema)
  },
  { title: 'Session' }
)
export type Session = Static<typeof SessionSchema>

/** A message of a session, with the run that saved it. */
export const SessionEntrySchema = Type.Object(
  {
    runId: Type.String({ description: 'The run of the turn; it may no longer be kept' }),
    message: SessionMessageSchema
  },
  { title: 'SessionEntry' }
)

const TITLE = { minLength: 1, maxLength: MAX_TITLE }

/** The fields of a session that its owner gives. */
export const SessionFieldsSchema = Type.Object(
  { title: Type.Optional(Type.String(TITLE)), metadata: Type.Optional(RunMetadataSchema) },
  { additionalProperties: false }
)

/** The fork of a session. */
export const SessionForkSchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({
        ...IdSchema,
        description: 'The run whose turn is the last one of the fork; default the newest turn'
      })
    ),
    sessionId: Type.Optional(Type.String({ ...IdSchema, description: 'Of the fork; default a new one' }))
  },
  { title: 'SessionFork', additionalProperties: false }
)
export type SessionFork = Static<typeof SessionForkSchema>

/** Where a session divides. */
export const TurnBranchesSchema = Type.Object(
  {
    after: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The run of the turn that they follow; null at the beginning'
    }),
    turns: Type.Array(Type.String(), { description: 'Their runs, oldest first; each names its `branch`' })
  },
  { title: 'TurnBranches' }
)

const nullable = <T extends TSchema>(schema: T, options: object) =>
  Type.Optional(Type.Unsafe<Static<T> | null>({ ...schema, nullable: true, ...options }))

/** What the owner of a session can change. */
export const SessionChangeSchema = Type.Object(
  {
    title: nullable(Type.String(TITLE), { description: 'null for none' }),
    metadata: nullable(RunMetadataSchema, {
      title: 'SessionMetadata',
      description: 'Replaces what there was; null removes it'
    })
  },
  { title: 'SessionChange', additionalProperties: false }
)
export type SessionChange = Static<typeof SessionChangeSchema>
