import { sql, type Kysely } from 'kysely'

/**
 * Adds previews of results and arguments, and indexes for lists. Large values move to a table of pieces, so that reading a row
 * does not read them; existing results stay in their rows, without a preview.
 */
export async function addLargeValues(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run_value')
    .addColumn('run_id', 'text', (column) => column.notNull().references('run.run_id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_value_key', ['run_id', 'name', 'seq'])
    .execute()
  await db.schema.alterTable('run').addColumn('preview', 'text').execute()
  await db.schema
    .alterTable('run_approval')
    .addColumn('args_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`
    insert into run_value (run_id, name, seq, json)
    select run_id, approval_id, 0, args from run_approval where octet_length(args) > 4096
  `.execute(db)
  await sql`
    update run_approval set
      args_bytes = coalesce(octet_length(args), 0),
      args = case when octet_length(args) > 4096 then substr(args, 1, 256) else args end
  `.execute(db)

  await replaceIndexes(db)
}

// Covers every filter of a list, so that only rows of the page are read.
async function replaceIndexes(db: Kysely<unknown>): Promise<void> {
  for (const name of ['run_newest', 'run_status', 'run_approval_run'])
    await db.schema.dropIndex(name).execute()
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
  // Most runs are completed, and any page finds those at once.
  await db.schema
    .createIndex('run_not_completed')
    .on('run')
    .columns(['status', 'created_at', 'run_id'])
    .where(sql<boolean>`status <> 'completed'`)
    .execute()
  const approvals = ['run_id', 'expires_at', 'approval_id']
  await db.schema.createIndex('run_approval_run').on('run_approval').columns(approvals).execute()
  // Created last: of two equal indexes SQLite prefers the newer.
  await db.schema
    .createIndex('run_approval_waiting')
    .on('run_approval')
    .columns(approvals)
    .where(sql<boolean>`answer is null`)
    .execute()
}
