import { sql, type Kysely } from 'kysely'

/** Webhooks, and the outbox of their messages. */
export async function addWebhooks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook')
    .addColumn('webhook_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text')
    .addColumn('registries', 'text', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('secrets', 'text', (column) => column.notNull())
    .addColumn('created_at', 'integer', (column) => column.notNull())
    .addColumn('updated_at', 'integer', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('webhook_delivery')
    .addColumn('seq', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('delivery_id', 'text', (column) => column.notNull().unique())
    .addColumn('webhook_id', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('registry', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text')
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('detail', 'text')
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'integer', (column) => column.notNull())
    .addColumn('dead', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .execute()
  const index = (name: string, table: string, columns: string[]) =>
    db.schema.createIndex(name).on(table).columns(columns)
  const isOfOwner = sql<boolean>`run_id is null`
  const isOfRun = sql<boolean>`run_id is not null`
  await index('webhook_subject', 'webhook', ['subject']).execute()
  await index('webhook_newest', 'webhook', ['owner', 'created_at', 'webhook_id']).where(isOfOwner).execute()
  await index('webhook_of_run', 'webhook', ['owner']).where(isOfRun).execute()
  await index('webhook_delivery_due', 'webhook_delivery', ['dead', 'due_at', 'seq']).execute()
  await index('webhook_delivery_order', 'webhook_delivery', ['webhook_id', 'run_id', 'seq']).execute()
  await index('webhook_delivery_run', 'webhook_delivery', ['run_id']).execute()
  await index('webhook_delivery_newest', 'webhook_delivery', ['owner', 'seq']).execute()
}
