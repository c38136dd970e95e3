import { Type, type TSchema } from '@sinclair/typebox'
import type { RemovedSubject } from '@svc/surface'
import { MAX_NAME_LENGTH, RunnableKindSchema, RunStatusSchema } from '@svc/contract'
import { nextCursor, pageQuery } from './parameters.ts'
import { RunSummarySchema } from './run-list.ts'

const filter = {
  status: Type.Optional(RunStatusSchema),
  kind: Type.Optional(RunnableKindSchema),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
  owner: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'The `sub` of a token' }))
}

/** Selects runs of all owners. */
export const RunFilterSchema = Type.Object(filter, { title: 'RunFilter', additionalProperties: false })

/** Selects one page of the runs of all owners. */
export const AdminRunQuerySchema = Type.Object(
  { ...filter, ...pageQuery },
  { title: 'AdminRunQuery', additionalProperties: false }
)

/** One page of the runs of all owners, newest first. */
export const AdminRunListSchema = Type.Object(
  {
    runs: Type.Array(
      Type.Object({ ...RunSummarySchema.properties, owner: Type.String() }, { title: 'AdminRunSummary' })
    ),
    nextCursor
  },
  { title: 'AdminRunList' }
)

/** The number of removed runs. */
export const RemovedRunsSchema = Type.Object({ removed: Type.Integer() }, { title: 'RemovedRuns' })

/** Path parameters of a person. */
export const SubjectParamsSchema = Type.Object({
  sub: Type.String({ description: 'The `sub` of a token, or the `userId` of callers without credentials' })
})

/** What was removed of a person. */
export const RemovedSubjectSchema = Type.Object(
  {
    schedules: Type.Integer(),
    webhooks: Type.Integer({ description: 'Those of single runs too, with their messages' }),
    runs: Type.Integer({ description: 'With their logs, files, inputs and A2A tasks' }),
    sessions: Type.Integer({ description: 'Also those of members and steps' }),
    memories: Type.Integer(),
    browserStates: Type.Integer({ description: 'Sessions with a state of their browser' }),
    remoteSessions: Type.Integer({ description: 'Sessions with conversations at other services' }),
    tasks: Type.Integer({ description: 'A2A tasks without a run' })
  } satisfies Record<keyof RemovedSubject, TSchema>,
  { title: 'RemovedSubject' }
)
