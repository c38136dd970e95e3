import { sql, type Kysely, type NotNull } from 'kysely'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'

// Runs and bytes per transaction, so that other work runs between two.
const BATCH = 100
const BATCH_BYTES = 16_777_216
// Worded like the condition of a partial index, so that SQLite uses it.
const HAS_FILES = sql<boolean>`file_bytes > 0`

interface EndedRun {
  readonly run_id: string
  readonly ended_at: number
  readonly bytes: number
  readonly file_bytes: number
}

/** Removes finished runs beyond the limits of age, number and size, oldest first; returns how many. */
export async function sweepRuns(
  db: Kysely<Tables>,
  { maxAge, maxRuns, maxBytes, fileMaxBytes }: Retention,
  now: number,
  remove: (runIds: readonly string[]) => Promise<void>
): Promise<number> {
  const ended = db.selectFrom('run').where('ended_at', 'is not', null)
  const withFiles = ended.where(HAS_FILES)

  // Removes the oldest of these runs up to the first that may stay.
  const removeOldest = async (runs: typeof ended, mustGo: (run: EndedRun) => boolean) => {
    const oldest = runs
      .select(['run_id', 'ended_at', 'bytes', 'file_bytes'])
      .$narrowType<{ ended_at: NotNull }>()
      .orderBy('ended_at')
      .limit(BATCH)
    for (let removed = 0; ;) {
      const ids: string[] = []
      let bytes = 0
      for (const run of await oldest.execute()) {
        if (bytes >= BATCH_BYTES || !mustGo(run)) break
        ids.push(run.run_id)
        bytes += run.bytes
      }
      if (ids.length === 0) return removed
      await remove(ids)
      removed += ids.length
    }
  }

  const kept = await ended
    .select((select) => [
      select.fn.countAll<number>().as('runs'),
      select.fn.coalesce(select.fn.sum<number>('bytes'), select.lit(0)).as('bytes')
    ])
    .executeTakeFirstOrThrow()
  const removed = await removeOldest(ended, (run) => {
    if (kept.runs <= maxRuns && kept.bytes <= maxBytes && run.ended_at + maxAge > now) return false
    kept.runs--
    kept.bytes -= run.bytes
    return true
  })

  const files = await withFiles
    .select((select) => select.fn.coalesce(select.fn.sum<number>('file_bytes'), select.lit(0)).as('bytes'))
    .executeTakeFirstOrThrow()
  const removedWithFiles = await removeOldest(withFiles, (run) => {
    if (files.bytes <= fileMaxBytes) return false
    files.bytes -= run.file_bytes
    return true
  })
  return removed + removedWithFiles
}
