import type { Kysely } from 'kysely'

/**
 * What a page of an owner's runs by their last change is read and counted from, whatever it is filtered by: one index, since
 * each makes every change of a run dearer. And what the last task of a context is found by.
 */
export async function addListIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('run_changed')
    .on('run')
    .columns(['owner', 'updated_at', 'run_id', 'status', 'session_id', 'kind', 'name'])
    .execute()
  await db.schema
    .createIndex('task_context')
    .on('task')
    .columns(['owner', 'context_id', 'created_at', 'task_id'])
    .execute()
}
