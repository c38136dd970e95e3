import { Type, type Static } from '@sinclair/typebox'

// No control characters.
// oxlint-disable-next-line no-control-regex -- control characters are what it excludes
const KEY = '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,64}$'

/** A value of metadata. */
export const MetadataValueSchema = Type.String({ maxLength: 512 })

/** Texts that a caller attaches to a run: at most 16, keys of 1–64 and values of at most 512 characters. */
export const RunMetadataSchema = Type.Record(Type.String({ pattern: KEY }), MetadataValueSchema, {
  title: 'RunMetadata',
  maxProperties: 16,
  additionalProperties: false,
  description: 'Your own texts: keys of 1–64 characters, values of at most 512'
})
export type RunMetadata = Readonly<Static<typeof RunMetadataSchema>>

/** Selects the runs whose metadata has this value under this key. */
export interface MetadataFilter {
  key: string
  value: string
}

/** True if metadata has the value of a filter under its key. */
export function hasMetadata(metadata: RunMetadata | null, { key, value }: MetadataFilter): boolean {
  return metadata !== null && Object.hasOwn(metadata, key) && metadata[key] === value
}

/** No metadata. */
export const NO_METADATA: RunMetadata = Object.freeze({})
