import type { Kysely } from 'kysely'

/** What receivers of push notifications were told, so that a restart goes on there. Of earlier ones it is not known: null. */
export async function addToldReceivers(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('push_config').addColumn('told', 'bigint').execute()
}
