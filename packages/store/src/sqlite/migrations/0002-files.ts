import { sql, type Kysely } from 'kysely'

/** The files of runs, and the bytes of them that each run has. */
export async function addFiles(db: Kysely<unknown>): Promise<void> {
  // No reference to the run: a file goes before its run, and one of a run that is not stored may be kept for a while.
  await db.schema
    .createTable('file')
    .addColumn('file_id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('mime_type', 'text', (column) => column.notNull())
    .addColumn('filename', 'text')
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  // Covers the sum of a run's bytes.
  await db.schema.createIndex('file_run').on('file').columns(['run_id', 'size']).execute()
  await db.schema.createIndex('file_oldest').on('file').columns(['created_at', 'run_id']).execute()
  await db.schema
    .alterTable('run')
    .addColumn('file_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('run_with_files')
    .on('run')
    .columns(['ended_at', 'file_bytes'])
    .where(sql<boolean>`file_bytes > 0 and ended_at is not null`)
    .execute()
}
