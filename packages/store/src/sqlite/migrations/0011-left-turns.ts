import type { Kysely } from 'kysely'

/** How a run that is canceled for a later message of its session leaves its turn, as JSON; null for any other run. */
export async function addLeftTurns(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('left_turn', 'text').execute()
}
