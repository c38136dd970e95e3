import type { Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import type { FileBytes } from '../files/file-bytes.ts'
import type { Tables } from '../tables.ts'

// Files per query, so that other work runs between two.
const BATCH = 100
// Rows that one sweep looks at.
const MAX_CHECKED = 500
const HOUR = 3_600_000
// A run outside an engine is not stored, but reads its files while it lasts.
const LEFT_FOR = 24 * HOUR

/**
 * Creates the sweep of what crashes left: bytes of files without a row, at its first call and then once an hour, and after a day the files and
 * tasks of runs that are not stored, since a run may be removed while they are being written: of these a call looks at some, the next one at
 * those after them, and so on around. A file whose bytes are missing goes with its run: the disk that has them may not be mounted yet.
 * @param writing the files that are being written
 */
export function createFileSweep(
  db: Kysely<Tables>,
  commit: Commit,
  bytes: FileBytes,
  writing: ReadonlySet<string>
): (now: number) => Promise<void> {
  const sweeps = [
    createLeftSweep(db, commit, 'file', 'run_id'),
    createLeftSweep(db, commit, 'task', 'task_id')
  ]
  let sweptAt = -Infinity
  return async (now) => {
    for (const sweep of sweeps) await sweep(now - LEFT_FOR)
    if (now - sweptAt < HOUR) return
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

// Removes rows whose runs are not stored.
function createLeftSweep(
  db: Kysely<Tables>,
  commit: Commit,
  name: 'file' | 'task',
  column: 'run_id' | 'task_id'
): (before: number) => Promise<void> {
  const table = name as 'file'
  const runId = column as 'run_id'
  let last = ''
  return async (before) => {
    const rows = await db
      .selectFrom(table)
      .select([runId, 'created_at'])
      .where(runId, '>', last)
      .orderBy(runId)
      .limit(MAX_CHECKED)
      .execute()
    last = rows.length < MAX_CHECKED ? '' : rows.at(-1)![runId]
    const old = rows.filter(({ created_at }) => created_at <= before).map((row) => row[runId])
    if (old.length === 0) return
    const stored = await db.selectFrom('run').select('run_id').where('run_id', 'in', old).execute()
    const known = new Set(stored.map(({ run_id }) => run_id))
    const left = old.filter((id) => !known.has(id))
    if (left.length > 0) await commit.write((trx) => trx.deleteFrom(table).where(runId, 'in', left).execute())
  }
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
