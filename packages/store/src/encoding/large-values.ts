import { createPause, encodePieces, isShort, RUN_ERR_NOT_FOUND } from '@svc/contract'
import type { Kysely } from 'kysely'
import { parseStored } from './stored-values.ts'
import type { Tables } from '../tables.ts'

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
