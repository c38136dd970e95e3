import type { RunLog } from '@svc/registry'
import type { Tables } from '../tables.ts'

// Of more rows than these it is not remembered that they were logged.
const MAX_LOGGED = 1_000

/** The value of JSON that is stored; undefined when it is damaged. */
export function parseStored<T>(json: string): T | undefined {
  try {
    return JSON.parse(json) as T
  } catch {
    return undefined
  }
}

/** Leaves out a row that is damaged. */
export type SkipDamaged = (table: keyof Tables, row: string) => undefined

/** Logs each damaged row, once. */
export function createSkipDamaged(log: Pick<RunLog, 'error'>): SkipDamaged {
  const logged = new Set<string>()
  return (table, row) => {
    const id = `${table} ${row}`
    if (logged.has(id) || logged.size === MAX_LOGGED) return undefined
    logged.add(id)
    log.error({ table, row }, 'a damaged row of the store is left out')
    return undefined
  }
}

/** An embedding as the bytes of single-precision numbers: a sixth of its JSON, and nothing to parse. */
export function encodeEmbedding(embedding: readonly number[]): Uint8Array {
  return new Uint8Array(new Float32Array(embedding).buffer)
}

/** The numbers of such bytes; undefined when they are damaged. */
export function decodeEmbedding(bytes: Uint8Array): number[] | undefined {
  if (bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0) return undefined
  // A copy: what a database gives may begin at any byte.
  const singles = new Float32Array(bytes.slice().buffer)
  const embedding: number[] = []
  // Ten times as fast as `Array.from`: hundreds of embeddings are read at once.
  for (let at = 0; at < singles.length; at++) embedding.push(singles[at]!)
  return embedding
}
