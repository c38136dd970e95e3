import { sql, type Kysely } from 'kysely'

/** Columns for retention: the size of runs, and the last use of sessions. */
export async function addSizesAndAges(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('run')
    .addColumn('bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('run').addColumn('ended_at', 'bigint').execute()
  await sql`
    update run set bytes = coalesce(octet_length(result), 0) +
      (select coalesce(sum(octet_length(json) + 100), 0) from run_part where run_part.run_id = run.run_id)
  `.execute(db)
  await sql`
    update run set ended_at = updated_at where status in ('completed', 'failed', 'canceled')
  `.execute(db)
  await db.schema
    .createIndex('run_ended')
    .on('run')
    .columns(['ended_at', 'bytes'])
    .where('ended_at', 'is not', null)
    .execute()

  await db.schema
    .createTable('session')
    .addColumn('session_key', 'text', (column) => column.primaryKey())
    .addColumn('last_seq', 'integer', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('session_oldest').on('session').column('updated_at').execute()
  // The time of the last message is unknown; now is the latest it can be.
  await sql`
    insert into session (session_key, last_seq, updated_at)
    select session_key, max(seq), ${Date.now()} from session_message group by session_key
  `.execute(db)
}
