import type { Kysely } from 'kysely'

/** The format of a run's log, steps and checkpoint; null for 1, of runs that are older. */
export async function addRunFormat(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('format', 'integer').execute()
}
