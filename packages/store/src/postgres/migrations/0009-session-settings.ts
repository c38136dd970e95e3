import type { Kysely } from 'kysely'

/** What wires keep for later turns of a session, as JSON. */
export async function addSessionSettings(db: Kysely<unknown>, schema: string): Promise<void> {
  await db.withSchema(schema).schema.alterTable('session').addColumn('settings', 'text').execute()
}
