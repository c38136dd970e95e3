import type { Kysely } from 'kysely'
import type { GroupCommit } from './group-commit.ts'
import type { ResolvedOptions } from './options.ts'
import { TERMINAL } from './run-rows.ts'
import type { Tables } from './tables.ts'

// So many runs in one transaction: others are served between two.
const BATCH = 100

/** Removes the finished runs that are too old or too many, oldest first, a few at a time; gives how many. */
export async function sweepRuns(
  db: Kysely<Tables>,
  commit: GroupCommit,
  { maxAge, maxRuns }: Pick<ResolvedOptions, 'maxAge' | 'maxRuns'>,
  now: number,
  onRemove: (runId: string) => void
): Promise<number> {
  const { count } = await db
    .selectFrom('run')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('status', 'in', TERMINAL)
    .executeTakeFirstOrThrow()
  let tooMany = count - maxRuns
  let removed = 0
  for (;;) {
    const oldest = await db
      .selectFrom('run')
      .select(['run_id', 'updated_at'])
      .where('status', 'in', TERMINAL)
      .orderBy('updated_at')
      .limit(BATCH)
      .execute()
    const ids = oldest
      .filter(({ updated_at }, index) => index < tooMany || updated_at + maxAge <= now)
      .map(({ run_id }) => run_id)
    if (ids.length === 0) return removed
    await commit.write(async (trx) => {
      await trx.deleteFrom('run').where('run_id', 'in', ids).execute()
      await trx.deleteFrom('checkpoint').where('run_id', 'in', ids).execute()
    })
    for (const runId of ids) onRemove(runId)
    removed += ids.length
    tooMany -= ids.length
  }
}
