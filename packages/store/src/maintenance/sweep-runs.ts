import type { Kysely, NotNull } from 'kysely'
import type { GroupCommit } from '../group-commit.ts'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'
import type { Removals } from './removals.ts'

// Runs and bytes per transaction, so that other work runs between two.
const BATCH = 100
const BATCH_BYTES = 16_777_216

/** Removes finished runs beyond the limits of age, number and size, oldest first; returns how many. */
export async function sweepRuns(
  db: Kysely<Tables>,
  commit: GroupCommit,
  { maxAge, maxRuns, maxBytes }: Retention,
  now: number,
  removals: Removals
): Promise<number> {
  const kept = await db
    .selectFrom('run')
    .select((select) => [
      select.fn.countAll<number>().as('runs'),
      select.fn.coalesce(select.fn.sum<number>('bytes'), select.lit(0)).as('bytes')
    ])
    .where('ended_at', 'is not', null)
    .executeTakeFirstOrThrow()
  let removed = 0
  for (;;) {
    const ids: string[] = []
    let bytes = 0
    for (const run of await oldest(db)) {
      if (kept.runs <= maxRuns && kept.bytes <= maxBytes && run.ended_at + maxAge > now) break
      ids.push(run.run_id)
      kept.runs--
      kept.bytes -= run.bytes
      if ((bytes += run.bytes) >= BATCH_BYTES) break
    }
    if (ids.length === 0) return removed
    await removals.announce(ids)
    await commit.write(async (trx) => {
      await trx.deleteFrom('run').where('run_id', 'in', ids).execute()
      await trx.deleteFrom('checkpoint').where('run_id', 'in', ids).execute()
      await trx.deleteFrom('task').where('task_id', 'in', ids).execute()
    })
    removals.done(ids)
    removed += ids.length
  }
}

function oldest(db: Kysely<Tables>) {
  return db
    .selectFrom('run')
    .select(['run_id', 'ended_at', 'bytes'])
    .where('ended_at', 'is not', null)
    .$narrowType<{ ended_at: NotNull }>()
    .orderBy('ended_at')
    .limit(BATCH)
    .execute()
}
