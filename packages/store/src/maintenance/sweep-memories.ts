import type { Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'

// Items per transaction, so that other work runs between two.
const BATCH = 100

/** Removes expired memories in batches, then empty spaces; returns the number of memories. */
export async function sweepMemories(
  db: Kysely<Tables>,
  commit: Commit,
  { memoryMaxAge }: Pick<Retention, 'memoryMaxAge'>,
  now: number
): Promise<number> {
  if (memoryMaxAge === 0) return 0
  const old = db
    .selectFrom('memory_item')
    .select('item_id')
    .where('created_at', '<=', now - memoryMaxAge)
    .orderBy('created_at')
    .limit(BATCH)
  for (let removed = 0; ;) {
    const count = await commit.write(async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('memory_item')
        .where('item_id', 'in', old)
        .executeTakeFirst()
      return Number(numDeletedRows)
    })
    if (count === 0) {
      if (removed > 0) await commit.write((trx) => removeEmptySpaces(trx))
      return removed
    }
    removed += count
  }
}

/** Removes the spaces without items: all, those of an owner, or some. */
export async function removeEmptySpaces(
  db: Kysely<Tables>,
  { owner, spaceIds }: { owner?: string; spaceIds?: readonly number[] } = {}
): Promise<void> {
  if (spaceIds?.length === 0) return
  await db
    .deleteFrom('memory_space')
    .$if(owner !== undefined, (spaces) => spaces.where('owner', '=', owner!))
    .$if(spaceIds !== undefined, (spaces) => spaces.where('space_id', 'in', spaceIds!))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('memory_item')
            .select('item_id')
            .whereRef('memory_item.space_id', '=', 'memory_space.space_id')
        )
      )
    )
    .execute()
}
