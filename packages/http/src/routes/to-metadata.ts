import { Value } from '@sinclair/typebox/value'
import { RunnableMetadataSchema, type Runnable, type RunnableMetadata } from '@svc/registry'

/** What a runnable tells of itself, without what is nobody's business: properties that the schema does not name. */
export function toMetadata(runnable: Runnable): RunnableMetadata {
  return Value.Clean(RunnableMetadataSchema, Value.Clone(runnable.describe())) as RunnableMetadata
}
