import type { Kysely } from 'kysely'

/** When a run was asked to be canceled, by the database's clock; null if it was not. */
export async function addCancelRequests(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('cancel_at', 'text').execute()
}
