import type { Kysely } from 'kysely'

/** What wires keep for later turns of a session, as JSON. */
export async function addSessionSettings(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('session').addColumn('settings', 'text').execute()
}
