import { Type, type Static } from '@sinclair/typebox'
import { MAX_NAME_LENGTH, MetadataValueSchema, RunRecordSchema, RunStatusSchema } from '@svc/registry/kit'
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
    ...pageQuery
  },
  { title: 'RunQuery', additionalProperties: false }
)

/** A run as an item of a list, without its result. */
export const RunSummarySchema = Type.Object(
  {
    ...Type.Omit(RunRecordSchema, ['result']).properties,
    preview: Type.Optional(Type.String({ description: 'The beginning of the result, if there is one' })),
    href: Type.String({ description: 'The URL of the run with its result' })
  },
  { title: 'RunSummary' }
)

/** One page of runs, newest first. */
export const RunListSchema = Type.Object(
  { runs: Type.Array(RunSummarySchema), nextCursor },
  { title: 'RunList' }
)
export type RunList = Static<typeof RunListSchema>
