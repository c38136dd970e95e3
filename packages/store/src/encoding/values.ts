import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createPause, encodePieces, isShort, type RunLog } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a text: nonce, tag, ciphertext. It can be decrypted only for the same `purpose`, so that rows cannot be exchanged. */
export function encrypt(text: string, key: Uint8Array, purpose: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(purpose))
  const encrypted = Buffer.concat([cipher.update(text), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** Decrypts what `encrypt` returned; undefined if it is damaged, or was encrypted with another key or for another purpose. */
export function decrypt(bytes: Uint8Array, key: Uint8Array, purpose: string): string | undefined {
  const tagEnd = NONCE_BYTES + TAG_BYTES
  if (bytes.length < tagEnd) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

// SUBSTITUTE: JSON escapes it, so that stored JSON never changes.
const ESCAPE = '\u001a'
const NUL = '\u0000'

/**
 * Escapes null characters: many versions of Node read a text of SQLite only up to the first one, and Postgres refuses them.
 */
export function escapeNul(text: string): string {
  return text.includes(NUL) || text.includes(ESCAPE)
    ? text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NUL, `${ESCAPE}0`)
    : text
}

/** Undoes `escapeNul`. */
export function unescapeNul(stored: string): string {
  return stored.includes(ESCAPE)
    ? stored.replaceAll(`${ESCAPE}0`, NUL).replaceAll(`${ESCAPE}1`, ESCAPE)
    : stored
}

/** Escapes the texts among parameters of a statement, and in arrays of them. */
export function escapeValues(values: readonly unknown[]): unknown[] {
  return values.map((value) => {
    if (typeof value === 'string') return escapeNul(value)
    return Array.isArray(value) ? escapeValues(value) : value
  })
}

// Damaged rows that are remembered as logged.
const MAX_LOGGED = 1_000

/** Parses stored JSON; undefined if it is damaged. */
export function parseStored<T>(json: string): T | undefined {
  try {
    return JSON.parse(json) as T
  } catch {
    return undefined
  }
}

/** Skips a damaged row. */
export type SkipDamaged = (table: keyof Tables, row: string) => undefined

/** Logs each damaged row once. */
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

/** Encodes an embedding as single-precision numbers: a sixth of its JSON, without parsing. */
export function encodeEmbedding(embedding: readonly number[]): Uint8Array {
  return new Uint8Array(new Float32Array(embedding).buffer)
}

/** The numbers of a stored embedding; undefined if there is none, or it is damaged. */
export function toSingles(bytes: Uint8Array | null): Float32Array | undefined {
  if (bytes === null || bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0) return undefined
  // A copy, since the database's bytes need not be aligned; `slice` of a Buffer would be a view.
  return new Float32Array(Uint8Array.from(bytes).buffer)
}

/** Decodes an embedding; undefined if it is damaged. */
export function decodeEmbedding(bytes: Uint8Array): number[] | undefined {
  const singles = toSingles(bytes)
  if (singles === undefined) return undefined
  const embedding: number[] = []
  // Ten times as fast as `Array.from`, which matters for hundreds of embeddings.
  for (let at = 0; at < singles.length; at++) embedding.push(singles[at]!)
  return embedding
}

/** The name of a run's result among its values; the others are arguments, named by the id of their input. */
export const RESULT = 'result'

/** Pieces per read. */
const MAX_READ = 4

/** The JSON of a value of at most about `most` characters; undefined if it is longer, '' if there is none. */
export function toShortJson(value: unknown, maxLength: number): string | undefined {
  return isShort(value, maxLength) ? (JSON.stringify(value) ?? '') : undefined
}

/** The pieces of a value and their size in bytes, encoded over several turns of the event loop. */
export async function encodeLarge(
  value: unknown
): Promise<{ pieces: string[]; bytes: number; first: string }> {
  const pause = createPause()
  const pieces: string[] = []
  let bytes = 0
  for (const json of encodePieces(value)) {
    pieces.push(json)
    bytes += Buffer.byteLength(json)
    await pause()
  }
  return { pieces, bytes, first: pieces[0] ?? '' }
}

/** The pieces of a value, read on demand. @throws RUN_ERR_NOT_FOUND if they are removed meanwhile */
export async function* readLarge(
  db: Kysely<Tables>,
  runId: string,
  name: string
): AsyncGenerator<string, void> {
  const read = (seq: number) =>
    db
      .selectFrom('run_value')
      .select('json')
      .where('run_id', '=', runId)
      .where('name', '=', name)
      .where('seq', '>=', seq)
      .orderBy('seq')
      .limit(MAX_READ)
      .execute()
  for (let seq = 0; ; seq += MAX_READ) {
    const pieces = await read(seq)
    for (const { json } of pieces) yield json
    if (pieces.length === MAX_READ) continue
    if (seq > 0 && (await read(0)).length === 0) throw new RUN_ERR_NOT_FOUND(runId)
    return
  }
}

/**
 * Reads a value from its pieces, over several turns of the event loop; null if there are none, undefined if it is damaged.
 */
export async function parseLarge<T>(
  db: Kysely<Tables>,
  runId: string,
  name: string
): Promise<T | null | undefined> {
  const pause = createPause()
  const pieces: string[] = []
  for await (const piece of readLarge(db, runId, name)) {
    pieces.push(piece)
    await pause()
  }
  return pieces.length === 0 ? null : parseStored<T>(pieces.join(''))
}
