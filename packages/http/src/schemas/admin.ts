import { Type } from '@sinclair/typebox'
import { MAX_NAME_LENGTH, RunnableKindSchema, RunStatusSchema } from '@svc/registry/kit'
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
