import type { Kysely } from 'kysely'

/** What browsers know in sessions, encrypted. */
export async function addBrowserStates(db: Kysely<unknown>): Promise<void> {
  // No reference to the session: a run whose conversation the caller keeps has none.
  await db.schema
    .createTable('browser_state')
    .addColumn('session_key', 'text', (column) => column.primaryKey())
    .addColumn('state', 'blob', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('browser_state_oldest').on('browser_state').column('updated_at').execute()
}
