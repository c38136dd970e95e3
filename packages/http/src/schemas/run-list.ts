import { Type, type Static } from '@sinclair/typebox'
import { MAX_NAME_LENGTH, RunRecordSchema, RunStatusSchema } from '@svc/registry'
import { nextCursor, pageQuery } from './parameters.ts'

/** Which of one's runs to list. */
export const RunQuerySchema = Type.Object(
  {
    status: Type.Optional(RunStatusSchema),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
    ...pageQuery
  },
  { title: 'RunQuery', additionalProperties: false }
)

/** A run as it is listed: all but its result. */
export const RunSummarySchema = Type.Object(
  {
    ...Type.Omit(RunRecordSchema, ['result']).properties,
    preview: Type.Optional(Type.String({ description: 'How the result begins, where there is one' })),
    href: Type.String({ description: 'Where all of it is' })
  },
  { title: 'RunSummary' }
)

/** One page of runs, newest first. */
export const RunListSchema = Type.Object(
  { runs: Type.Array(RunSummarySchema), nextCursor },
  { title: 'RunList' }
)
export type RunList = Static<typeof RunListSchema>
