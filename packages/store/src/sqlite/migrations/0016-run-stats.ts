import type { Kysely } from 'kysely'

/** What a run took, as JSON; null until it ends, and for runs that ended before. */
export async function addRunStats(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('stats', 'text').execute()
}
