import type { Kysely } from 'kysely'

/** Sessions are trees of turns: a row for each turn that does not follow the one saved before it. */
export async function addSessionBranches(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('session_branch')
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('first_seq', 'integer', (column) => column.notNull())
    .addColumn('parent_key', 'text', (column) => column.notNull())
    .addColumn('parent_seq', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('session_branch_key', ['session_key', 'first_seq'])
    .execute()
  await db.schema
    .createIndex('session_branch_parent')
    .on('session_branch')
    .columns(['parent_key', 'parent_seq'])
    .execute()
}
