import { Type, type Static } from '@sinclair/typebox'
import {
  MAX_NAME_LENGTH,
  MetadataValueSchema,
  RunRecordSchema,
  RunStatusSchema,
  UsageSchema
} from '@svc/contract'
import { nextCursor, pageQuery } from './parameters.ts'

/** Selects runs by one text of their metadata. */
const MetadataQuerySchema = Type.Record(Type.String({ pattern: '^[^]{1,64}$' }), MetadataValueSchema, {
  minProperties: 1,
  title: 'MetadataFilter',
  maxProperties: 1,
  additionalProperties: false,
  description: 'Only runs whose metadata has this value: `metadata[customer]=c-17`'
})

/** Selects one page of the caller's runs. */
export const RunQuerySchema = Type.Object(
  {
    status: Type.Optional(RunStatusSchema),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })),
    metadata: Type.Optional(MetadataQuerySchema),
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        // `Date.parse` knows neither leap seconds nor small letters.
        pattern: '^[0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$',
        description: 'Only runs that changed then or later; the last changed come first'
      })
    ),
    ...pageQuery
  },
  { title: 'RunQuery', additionalProperties: false }
)

/** A run as an item of a list, without its result. */
export const RunSummarySchema = Type.Object(
  {
    ...Type.Omit(RunRecordSchema, ['result']).properties,
    preview: Type.Optional(Type.String({ description: 'The beginning of the result, if there is one' })),
    usage: Type.Optional(UsageSchema),
    firstTokenMs: Type.Optional(
      Type.Number({
        description: 'Milliseconds of the first model call until its first token; once the run is over'
      })
    ),
    href: Type.String({ description: 'The URL of the run with its result' })
  },
  { title: 'RunSummary' }
)

/** One page of runs, newest first; with `since` the last changed first. */
export const RunListSchema = Type.Object(
  { runs: Type.Array(RunSummarySchema), nextCursor },
  { title: 'RunList' }
)
export type RunList = Static<typeof RunListSchema>
