import type { Kysely } from 'kysely'

/** The public key to which processes that do not have the run encrypt an answer; null if they need not. */
export async function addSealedAnswers(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run_input').addColumn('seal_key', 'text').execute()
}
