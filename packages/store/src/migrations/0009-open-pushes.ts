import { sql, type Kysely } from 'kysely'

/** What the receivers that are still to be told something are found by after a restart. */
export async function addOpenPushes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('push_config_open')
    .on('push_config')
    .columns(['task_id', 'config_id'])
    .where(sql.ref('told'), 'is not', null)
    .execute()
}
