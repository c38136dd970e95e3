import { Type } from '@sinclair/typebox'
import { MAX_NAME_LENGTH, RunnableKindSchema, RunRecordSchema, RunStatusSchema } from '@svc/registry'
import { RunQuerySchema } from './run-list.ts'

const filter = {
  status: Type.Optional(RunStatusSchema),
  kind: Type.Optional(RunnableKindSchema),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
  owner: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'The `sub` of a token' }))
}
const { limit, cursor } = RunQuerySchema.properties

/** Which runs, of all owners. */
export const RunFilterSchema = Type.Object(filter, { title: 'RunFilter', additionalProperties: false })

/** Which of all owners' runs to list. */
export const AdminRunQuerySchema = Type.Object(
  { ...filter, limit, cursor },
  { title: 'AdminRunQuery', additionalProperties: false }
)

/** One page of all owners' runs, newest first. */
export const AdminRunListSchema = Type.Object(
  {
    runs: Type.Array(
      Type.Object({ ...RunRecordSchema.properties, owner: Type.String() }, { title: 'AdminRunRecord' })
    ),
    nextCursor: Type.Unsafe<string | null>({
      type: 'string',
      nullable: true,
      description: 'null on the last page'
    })
  },
  { title: 'AdminRunList' }
)

/** How many runs were removed. */
export const RemovedRunsSchema = Type.Object({ removed: Type.Integer() }, { title: 'RemovedRuns' })
