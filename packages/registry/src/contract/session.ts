import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'
import { SessionMessageSchema } from './ports/session-store.ts'
import { RunMetadataSchema } from './run-metadata.ts'

const MAX_TITLE = 200

const time = (description: string) => Type.String({ format: 'date-time', description })

/** A session as clients see it. Times are ISO 8601 in UTC. */
export const SessionSchema = Type.Object(
  {
    sessionId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String({ description: 'The runnable of the conversation' }),
    title: Type.Optional(
      Type.String({ description: 'Given by its owner, else the beginning of the first message' })
    ),
    createdAt: time('When its first run began'),
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

const nullable = <T extends TSchema>(schema: T, options: object) =>
  Type.Optional(Type.Unsafe<Static<T> | null>({ ...schema, nullable: true, ...options }))

/** What the owner of a session can change. */
export const SessionChangeSchema = Type.Object(
  {
    title: nullable(Type.String(TITLE), { description: 'null for the beginning of the first message' }),
    metadata: nullable(RunMetadataSchema, {
      title: 'SessionMetadata',
      description: 'Replaces what there was; null removes it'
    })
  },
  { title: 'SessionChange', additionalProperties: false }
)
export type SessionChange = Static<typeof SessionChangeSchema>
