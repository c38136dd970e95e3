import type { Kysely } from 'kysely'
import type { FileBytes } from '../files/file-bytes.ts'
import type { Commit } from '../commit.ts'
import type { Tables } from '../tables.ts'

// Files per transaction or query, so that other work runs between two.
const BATCH = 100
const HOUR = 3_600_000
// A run outside an engine is not stored, but reads its files while it lasts.
const LEFT_FOR = 24 * HOUR
// A table, its key, and its column with the id of a run.
const FILES = ['file', 'file_id', 'file.run_id'] as const
const TASKS = ['task', 'task_id', 'task.task_id'] as const

/**
 * Creates the sweep of files, which acts at its first call and then once an hour. Removes what crashes left: bytes without a row, and
 * after a day the files and tasks of runs that are not stored: a run may be removed while they are being written. A file whose bytes are
 * missing goes with its run: the disk that has them may not be mounted yet.
 * @param writing the files that are being written
 */
export function createFileSweep(
  db: Kysely<Tables>,
  commit: Commit,
  bytes: FileBytes,
  writing: ReadonlySet<string>
): (now: number) => Promise<void> {
  let sweptAt = -Infinity
  return async (now) => {
    if (now - sweptAt < HOUR) return
    for (const table of [FILES, TASKS]) await removeLeft(db, commit, now - LEFT_FOR, table)
    let listed: string[] = []
    for await (const fileId of bytes.list()) {
      if (listed.push(fileId) < BATCH) continue
      await removeUnknown(db, bytes, writing, listed)
      listed = []
    }
    await removeUnknown(db, bytes, writing, listed)
    sweptAt = now
  }
}

async function removeLeft(
  db: Kysely<Tables>,
  commit: Commit,
  before: number,
  [table, id, runId]: typeof FILES | typeof TASKS
): Promise<void> {
  const left = db
    .selectFrom(table as 'file')
    .select(id as 'file_id')
    .where('created_at', '<=', before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('run')
            .select('run_id')
            .whereRef('run.run_id', '=', runId as 'file.run_id')
        )
      )
    )
    .limit(BATCH)
  const remove = () =>
    commit.write((trx) =>
      trx
        .deleteFrom(table as 'file')
        .where(id as 'file_id', 'in', left)
        .executeTakeFirst()
    )
  while ((await remove()).numDeletedRows > 0n);
}

async function removeUnknown(
  db: Kysely<Tables>,
  bytes: FileBytes,
  writing: ReadonlySet<string>,
  listed: readonly string[]
): Promise<void> {
  // Before the rows are read: a file that is written by now has its row, if it gets one.
  const written = listed.filter((fileId) => !writing.has(fileId))
  const rows = await db.selectFrom('file').select('file_id').where('file_id', 'in', written).execute()
  const known = new Set(rows.map(({ file_id }) => file_id))
  await bytes.remove(written.filter((fileId) => !known.has(fileId)))
}
