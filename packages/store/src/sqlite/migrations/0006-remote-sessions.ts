import type { Kysely } from 'kysely'

/** Which conversations of other services belong to sessions. */
export async function addRemoteSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('remote_session')
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('remote', 'text', (column) => column.notNull())
    .addColumn('context_id', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text')
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('remote_session_key', ['session_key', 'remote'])
    .execute()
  await db.schema.createIndex('remote_session_oldest').on('remote_session').column('updated_at').execute()
}
