import type { Kysely } from 'kysely'

/** Messages that are to join a run. */
export async function addSteers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run_steer')
    .addColumn('steer_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('run_id', 'text', (column) => column.notNull().references('run.run_id').onDelete('cascade'))
    .addColumn('hash', 'text')
    .addColumn('message', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('run_steer_run').on('run_steer').column('run_id').execute()
}
