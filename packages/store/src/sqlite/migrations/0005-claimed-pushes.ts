import { sql, type Kysely } from 'kysely'

/** Who sends the notifications of a push configuration, and what selects those to send. */
export async function addClaimedPushes(db: Kysely<unknown>): Promise<void> {
  const table = db.schema.alterTable('push_config')
  await table.addColumn('owner', 'text', (column) => column.notNull().defaultTo('')).execute()
  await table.addColumn('endpoint', 'text').execute()
  await table.addColumn('node_id', 'text').execute()
  await sql`update push_config set
    owner = coalesce((select owner from task where task.task_id = push_config.task_id), ''),
    endpoint = case when json_valid(config) then json_extract(config, '$.endpoint') end`.execute(db)
  await db.schema
    .createIndex('push_config_open_of_owner')
    .on('push_config')
    .column('owner')
    .where(sql<boolean>`pushed is not null`)
    .execute()
}
