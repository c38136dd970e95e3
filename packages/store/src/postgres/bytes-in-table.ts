import { RUN_ERR_DAMAGED, RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { sql, type Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import { PIECE, type FileBytes } from '../files/file-bytes.ts'
import type { Tables } from '../tables.ts'

// Rows per query of a list.
const PAGE = 1_000
// Files that one list has; the next one begins after them.
const MAX_LISTED = 50_000

/**
 * Bytes of files in a table, in chunks of 256 KiB that are written and read one by one. A file that is being written, by any process, is
 * not listed: chunks without a file are listed after a day.
 */
export function createBytesInTable(db: Kysely<Tables>, commit: Commit): FileBytes {
  let last = ''
  const chunks = () => db.selectFrom('file_chunk')
  const remove = (fileIds: readonly string[]) =>
    commit.write(async (trx) => {
      const files = trx.selectFrom('file_chunk').select(['run_id', 'file_id']).where('seq', '=', 0)
      const found = await files.where('file_id', 'in', fileIds).execute()
      for (const { run_id, file_id } of found)
        await trx
          .deleteFrom('file_chunk')
          .where('run_id', '=', run_id)
          .where('file_id', '=', file_id)
          .execute()
    })

  return {
    async write({ runId, fileId }, content) {
      let seq = 0
      try {
        for await (const bytes of inChunks(content)) {
          const row = { run_id: runId, file_id: fileId, seq: seq++, bytes }
          await commit.write((trx) => trx.insertInto('file_chunk').values(row).execute(), commit.outage)
        }
      } catch (err) {
        // What is left of it now is removed by the sweep.
        if (seq > 0) await remove([fileId]).catch(() => {})
        throw err
      }
    },
    async size({ runId, fileId }) {
      const { size } = await chunks()
        // The length of a chunk is known without reading it.
        .select(sql<number | null>`sum(octet_length(bytes))`.as('size'))
        .where('run_id', '=', runId)
        .where('file_id', '=', fileId)
        .executeTakeFirstOrThrow()
      return size ?? undefined
    },
    async *read({ runId, fileId }, start, end) {
      for (let at = start; at < end;) {
        const seq = Math.floor(at / PIECE)
        const from = at - seq * PIECE
        const length = Math.min(PIECE - from, end - at)
        const row = await chunks()
          .select(sql<Uint8Array>`substring(bytes from ${from + 1}::int for ${length}::int)`.as('bytes'))
          .where('run_id', '=', runId)
          .where('file_id', '=', fileId)
          .where('seq', '=', seq)
          .executeTakeFirst()
        if (row === undefined) throw new RUN_ERR_NOT_FOUND(runId)
        if (row.bytes.length !== length) throw new RUN_ERR_DAMAGED(`file ${fileId}`)
        yield row.bytes
        at += length
      }
    },
    async remove(fileIds) {
      if (fileIds.length > 0) await remove(fileIds)
    },
    async *list() {
      for (let listed = 0; listed < MAX_LISTED; listed += PAGE) {
        const page = await chunks()
          .select('file_id')
          .where('seq', '=', 0)
          .where('written_at', '<', sql<Date>`clock_timestamp() - interval '1 day'`)
          .where('file_id', '>', last)
          .orderBy('file_id')
          .limit(PAGE)
          .execute()
        last = page.length < PAGE ? '' : page.at(-1)!.file_id
        for (const { file_id } of page) yield file_id
        if (last === '') return
      }
    }
  }
}

/** Cuts a stream into chunks of one size, but for the last; a file of no bytes has an empty one. */
export async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let chunk = Buffer.allocUnsafe(PIECE)
  let length = 0
  let isEmpty = true
  for await (const piece of content)
    for (let at = 0; at < piece.length;) {
      const end = Math.min(piece.length, at + PIECE - length)
      chunk.set(piece.subarray(at, end), length)
      length += end - at
      at = end
      if (length < PIECE) continue
      yield chunk
      isEmpty = false
      chunk = Buffer.allocUnsafe(PIECE)
      length = 0
    }
  if (length > 0 || isEmpty) yield chunk.subarray(0, length)
}
