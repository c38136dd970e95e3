import { sql, type ColumnDefinitionBuilder, type Kysely } from 'kysely'

/** The tables of every store. */
export async function createFirstTables(db: Kysely<unknown>): Promise<void> {
  await createRuns(db)
  await createInputs(db)
  await createSessions(db)
  await createMemories(db)
  await createTasks(db)
  await db.schema
    .createTable('checkpoint')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('epoch', 'integer', required)
    .addColumn('state', 'text', required)
    .execute()
}

async function createRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('registry', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('session_id', 'text', required)
    .addColumn('owner', 'text', required)
    .addColumn('start_key', 'text')
    .addColumn('start_hash', 'text')
    .addColumn('metadata', 'text')
    .addColumn('created_at', 'bigint', required)
    .addColumn('updated_at', 'bigint', required)
    .addColumn('status', 'text', required)
    .addColumn('epoch', 'integer', required)
    .addColumn('result', 'text')
    .addColumn('error', 'text')
    .addColumn('bytes', 'bigint', required)
    .addColumn('ended_at', 'bigint')
    .addColumn('preview', 'text')
    .execute()
  await createRunIndexes(db)
  await db.schema
    .createTable('run_part')
    .addColumn('run_id', 'text', ofRun)
    .addColumn('seq', 'integer', required)
    .addColumn('json', 'text', required)
    .addPrimaryKeyConstraint('run_part_key', ['run_id', 'seq'])
    .execute()
  await db.schema
    .createTable('run_step')
    .addColumn('run_id', 'text', ofRun)
    .addColumn('key', 'text', required)
    .addColumn('output', 'text')
    .addPrimaryKeyConstraint('run_step_key', ['run_id', 'key'])
    .execute()
  // Apart from the rows that they belong to, so that reading a row does not read them.
  await db.schema
    .createTable('run_value')
    .addColumn('run_id', 'text', ofRun)
    .addColumn('name', 'text', required)
    .addColumn('seq', 'integer', required)
    .addColumn('json', 'text', required)
    .addPrimaryKeyConstraint('run_value_key', ['run_id', 'name', 'seq'])
    .execute()
}

// Each covers every filter of a list, so that only rows of the page are read. One index serves all filters of an owner's runs by
// their last change, since each index makes every write slower.
async function createRunIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('run_start')
    .on('run')
    .columns(['owner', 'registry', 'start_key'])
    .unique()
    .where(sql.ref('start_key'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('run_newest')
    .on('run')
    .columns(['owner', 'created_at', 'run_id', 'status', 'registry', 'kind', 'name'])
    .execute()
  await db.schema
    .createIndex('run_created')
    .on('run')
    .columns(['created_at', 'run_id', 'registry', 'kind', 'name'])
    .execute()
  await db.schema
    .createIndex('run_changed')
    .on('run')
    .columns(['owner', 'updated_at', 'run_id', 'status', 'session_id', 'registry', 'kind', 'name'])
    .execute()
  await db.schema
    .createIndex('run_with_metadata')
    .on('run')
    .columns(['owner', 'created_at', 'run_id'])
    .where(sql.ref('metadata'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('run_ended')
    .on('run')
    .columns(['ended_at', 'bytes'])
    .where(sql.ref('ended_at'), 'is not', null)
    .execute()
  // Most runs are completed, and any page finds those at once.
  await db.schema
    .createIndex('run_not_completed')
    .on('run')
    .columns(['status', 'created_at', 'run_id'])
    .where(sql<boolean>`status <> 'completed'`)
    .execute()
}

async function createInputs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run_input')
    .addColumn('input_id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', ofRun)
    .addColumn('kind', 'text', required)
    .addColumn('message', 'text')
    .addColumn('schema', 'text')
    .addColumn('tool_call_id', 'text')
    .addColumn('tool_name', 'text')
    .addColumn('args', 'text')
    .addColumn('args_bytes', 'bigint', required)
    .addColumn('source', 'text', required)
    .addColumn('path', 'text', required)
    .addColumn('expires_at', 'bigint', required)
    .addColumn('answer', 'text')
    .execute()
  const columns = ['run_id', 'expires_at', 'input_id', 'kind']
  await db.schema.createIndex('run_input_run').on('run_input').columns(columns).execute()
  // Created last: of two equal indexes SQLite prefers the newer.
  await db.schema
    .createIndex('run_input_waiting')
    .on('run_input')
    .columns(columns)
    .where(sql<boolean>`answer is null`)
    .execute()
}

async function createSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('session')
    .addColumn('session_key', 'text', (column) => column.primaryKey())
    .addColumn('last_seq', 'integer', required)
    .addColumn('updated_at', 'bigint', required)
    .execute()
  await db.schema.createIndex('session_oldest').on('session').column('updated_at').execute()
  await db.schema
    .createTable('session_message')
    .addColumn('session_key', 'text', required)
    .addColumn('seq', 'integer', required)
    .addColumn('turn_id', 'text', required)
    .addColumn('message', 'text', required)
    .addPrimaryKeyConstraint('session_message_key', ['session_key', 'seq'])
    .execute()
  const columns = ['session_key', 'turn_id']
  await db.schema.createIndex('session_message_turn').on('session_message').columns(columns).execute()
}

async function createMemories(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('memory_space')
    .addColumn('space_id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('owner', 'text', required)
    .addColumn('namespace', 'text', required)
    .addUniqueConstraint('memory_space_key', ['owner', 'namespace'])
    .execute()
  await db.schema
    .createTable('memory_item')
    .addColumn('item_id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('space_id', 'integer', (column) => column.notNull().references('memory_space.space_id'))
    .addColumn('id', 'text', required)
    .addColumn('text', 'text', required)
    .addColumn('metadata', 'text')
    .addColumn('embedding', 'blob')
    .addColumn('created_at', 'bigint', required)
    .addUniqueConstraint('memory_item_key', ['space_id', 'id'])
    .execute()
  await db.schema
    .createIndex('memory_item_newest')
    .on('memory_item')
    .columns(['space_id', 'created_at', 'item_id'])
    .execute()
  await db.schema.createIndex('memory_item_oldest').on('memory_item').column('created_at').execute()
  await db.schema
    .createTable('memory_word')
    .addColumn('space_id', 'integer', required)
    .addColumn('word', 'text', required)
    .addColumn('item_id', 'integer', (column) =>
      column.notNull().references('memory_item.item_id').onDelete('cascade')
    )
    .addPrimaryKeyConstraint('memory_word_key', ['space_id', 'word', 'item_id'])
    .modifyEnd(sql`without rowid`)
    .execute()
  await db.schema.createIndex('memory_word_item').on('memory_word').column('item_id').execute()
}

async function createTasks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('task')
    .addColumn('task_id', 'text', (column) => column.primaryKey())
    .addColumn('context_id', 'text', required)
    .addColumn('registry', 'text', required)
    .addColumn('owner', 'text', required)
    .addColumn('agent_name', 'text', required)
    .addColumn('created_at', 'bigint', required)
    .execute()
  await db.schema.createIndex('task_newest').on('task').columns(['owner', 'created_at', 'task_id']).execute()
  // Finds the last task of a context.
  await db.schema
    .createIndex('task_context')
    .on('task')
    .columns(['owner', 'context_id', 'created_at', 'task_id', 'registry'])
    .execute()
  await db.schema
    .createTable('task_message')
    .addColumn('registry', 'text', required)
    .addColumn('owner', 'text', required)
    .addColumn('message_id', 'text', required)
    .addColumn('task_id', 'text', ofTask)
    .addColumn('seq', 'integer', required)
    .addColumn('message', 'text', required)
    .addPrimaryKeyConstraint('task_message_key', ['registry', 'owner', 'message_id'])
    .execute()
  await db.schema.createIndex('task_message_task').on('task_message').columns(['task_id', 'seq']).execute()
  await db.schema
    .createTable('push_config')
    .addColumn('task_id', 'text', ofTask)
    .addColumn('config_id', 'text', required)
    .addColumn('config', 'text', required)
    .addColumn('pushed', 'bigint')
    .addPrimaryKeyConstraint('push_config_key', ['task_id', 'config_id'])
    .execute()
  // Finds the receivers with pending notifications after a restart.
  await db.schema
    .createIndex('push_config_open')
    .on('push_config')
    .columns(['task_id', 'config_id'])
    .where(sql.ref('pushed'), 'is not', null)
    .execute()
}

function required(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder {
  return column.notNull()
}

function ofRun(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder {
  return column.notNull().references('run.run_id').onDelete('cascade')
}

function ofTask(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder {
  return column.notNull().references('task.task_id').onDelete('cascade')
}
