import { Type, type Static } from '@sinclair/typebox'
import { MAX_NAME_LENGTH, RunRecordSchema, RunStatusSchema } from '@svc/registry'

/** Which of one's runs to list. */
export const RunQuerySchema = Type.Object(
  {
    status: Type.Optional(RunStatusSchema),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'The last `nextCursor`' }))
  },
  { title: 'RunQuery', additionalProperties: false }
)

/** One page of runs, newest first. */
export const RunListSchema = Type.Object(
  {
    runs: Type.Array(RunRecordSchema),
    nextCursor: Type.Unsafe<string | null>({
      type: 'string',
      nullable: true,
      description: 'null on the last page'
    })
  },
  { title: 'RunList' }
)
export type RunList = Static<typeof RunListSchema>
