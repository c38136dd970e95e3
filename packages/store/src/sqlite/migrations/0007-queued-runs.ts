import { sql, type Kysely } from 'kysely'

/** Runs from the queue. Their epoch is 0 while they wait. */
export async function addQueuedRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('queued_at', 'integer').execute()
  const waits = sql<boolean>`epoch = 0 and ended_at is null`
  await db.schema
    .createIndex('run_waiting')
    .on('run')
    .columns(['registry', 'kind', 'name', 'owner', 'queued_at', 'run_id'])
    .where(waits)
    .execute()
  await db.schema
    .createIndex('run_place')
    .on('run')
    .columns(['owner', 'queued_at', 'run_id'])
    .where(waits)
    .execute()
  await db.schema
    .createIndex('run_from_queue')
    .on('run')
    .column('owner')
    .where(sql<boolean>`queued_at is not null and epoch > 0 and ended_at is null`)
    .execute()
}
