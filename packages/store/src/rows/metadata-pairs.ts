import { createHash } from 'node:crypto'
import type { MetadataFilter } from '@svc/contract'

/** Bytes of the digest of a key with its value; runs that share one by chance are told apart by their metadata. */
export const PAIR_BYTES = 8

/** A key with its value, as it is in the JSON of metadata. */
export function textOfPair({ key, value }: MetadataFilter): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`
}

/** The digest of a key with its value, by which Postgres finds runs. */
export function digestPair(pair: MetadataFilter): Uint8Array {
  return createHash('sha256').update(textOfPair(pair)).digest().subarray(0, PAIR_BYTES)
}
