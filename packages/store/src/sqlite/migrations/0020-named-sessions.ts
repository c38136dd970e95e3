import { sql, type Kysely } from 'kysely'

/** The sessions of an owner with a runnable, in the order of lists. */
export async function indexNamedSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('session_named')
    .on('session')
    .columns(['owner', 'registry', 'kind', 'name', 'updated_at', 'session_key'])
    .where(sql<boolean>`listed > 0`)
    .execute()
}
