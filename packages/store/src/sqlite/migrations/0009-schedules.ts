import { sql, type Kysely } from 'kysely'

/** Schedules, and when each is due. */
export async function addSchedules(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('schedule')
    .addColumn('schedule_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('registry', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('created_at', 'integer', (column) => column.notNull())
    .addColumn('updated_at', 'integer', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('plan', 'text', (column) => column.notNull())
    .addColumn('next_at', 'integer')
    .addColumn('ended_at', 'integer')
    .addColumn('last_at', 'integer')
    .addColumn('last_run_id', 'text')
    .addColumn('last_error', 'text')
    .execute()
  const index = (name: string, columns: string[], filled?: string) => {
    const made = db.schema.createIndex(name).on('schedule').columns(columns)
    return filled === undefined ? made : made.where(sql<boolean>`${sql.ref(filled)} is not null`)
  }
  await index('schedule_newest', ['owner', 'created_at', 'schedule_id']).execute()
  await index('schedule_created', ['created_at', 'schedule_id']).execute()
  await index('schedule_due', ['registry', 'kind', 'name', 'next_at'], 'next_at').execute()
  await index('schedule_overdue', ['next_at'], 'next_at').execute()
  await index('schedule_ended', ['ended_at'], 'ended_at').execute()
}
