import { sql, type Kysely } from 'kysely'

/** The registry of a run, a task and its messages; older rows belong to the global one. */
export async function addRegistryIds(db: Kysely<unknown>): Promise<void> {
  for (const table of ['run', 'task'])
    await db.schema
      .alterTable(table)
      .addColumn('registry', 'text', (column) => column.notNull().defaultTo('global'))
      .execute()
  for (const index of ['run_start', 'run_changed', 'task_context']) await db.schema.dropIndex(index).execute()
  await db.schema
    .createIndex('run_start')
    .on('run')
    .columns(['owner', 'registry', 'start_key'])
    .unique()
    .where('start_key', 'is not', null)
    .execute()
  await db.schema
    .createIndex('run_changed')
    .on('run')
    .columns(['owner', 'updated_at', 'run_id', 'status', 'session_id', 'registry', 'kind', 'name'])
    .execute()
  await db.schema
    .createIndex('task_context')
    .on('task')
    .columns(['owner', 'context_id', 'created_at', 'task_id', 'registry'])
    .execute()

  await db.schema.alterTable('task_message').renameTo('task_message_before').execute()
  await db.schema.dropIndex('task_message_task').execute()
  await db.schema
    .createTable('task_message')
    .addColumn('registry', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('message_id', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text', (column) => column.notNull().references('task.task_id').onDelete('cascade'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('task_message_key', ['registry', 'owner', 'message_id'])
    .execute()
  await sql`
    insert into task_message (registry, owner, message_id, task_id, seq, message)
    select 'global', owner, message_id, task_id, seq, message from task_message_before
  `.execute(db)
  await db.schema.dropTable('task_message_before').execute()
  await db.schema.createIndex('task_message_task').on('task_message').columns(['task_id', 'seq']).execute()
}
