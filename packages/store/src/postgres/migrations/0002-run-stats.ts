import type { Kysely } from 'kysely'

/** What a run took, as JSON; null until it ends, and for runs that ended before. */
export async function addRunStats(db: Kysely<unknown>, schema: string): Promise<void> {
  await db.withSchema(schema).schema.alterTable('run').addColumn('stats', 'text').execute()
}
