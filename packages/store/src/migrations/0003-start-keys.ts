import type { Kysely } from 'kysely'

/** What lets a client start a run once: its own key, and what it asked for with it. */
export async function addStartKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('start_key', 'text').execute()
  await db.schema.alterTable('run').addColumn('start_hash', 'text').execute()
  // It only repeated the id of the run.
  await db.schema.alterTable('run').dropColumn('idempotency_key').execute()
  await db.schema
    .createIndex('run_start')
    .on('run')
    .columns(['owner', 'start_key'])
    .unique()
    .where('start_key', 'is not', null)
    .execute()
}
