import type { Kysely } from 'kysely'
import type { ItemCodes } from '../backend.ts'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'

// Items per transaction, so that other work runs between two.
const BATCH = 100

/** Removes expired memories in batches, and spaces that are empty then; returns the number of memories. */
export async function sweepMemories(
  commit: Commit,
  codes: ItemCodes,
  { memoryMaxAge }: Pick<Retention, 'memoryMaxAge'>,
  now: number
): Promise<number> {
  if (memoryMaxAge === 0) return 0
  for (let count = 0; ;) {
    const rows = await commit.write(async (trx) => {
      const old = trx
        .selectFrom('memory_item')
        .select('item_id')
        .where('created_at', '<=', now - memoryMaxAge)
      const oldest = old.orderBy('created_at').limit(BATCH)
      const removed = await trx
        .deleteFrom('memory_item')
        .where('item_id', 'in', oldest)
        .returning(['space_id', 'item_id'])
        .execute()
      const spaceIds = [...new Set(removed.map(({ space_id }) => space_id))]
      await removeEmptySpaces(trx, { spaceIds })
      return removed
    })
    codes.changed({ removed: rows })
    count += rows.length
    if (rows.length < BATCH) return count
  }
}

/** Removes the spaces without items: those of an owner, or some. */
export async function removeEmptySpaces(
  db: Kysely<Tables>,
  { owner, spaceIds }: { owner?: string; spaceIds?: readonly number[] }
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
