import type { CheckpointStore } from '@svc/contract'
import { sql, type Kysely } from 'kysely'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'

/** Reads checkpoints of resumable runs, in SQL. */
export function createCheckpointStore(
  db: Kysely<Tables>,
  skipDamaged: SkipDamaged
): Omit<CheckpointStore, 'save' | 'remove'> {
  return {
    async size(runId) {
      const row = await db
        .selectFrom('checkpoint')
        .select(sql<number>`octet_length(state)`.as('bytes'))
        .where('run_id', '=', runId)
        .executeTakeFirst()
      return row?.bytes
    },
    async load(runId) {
      const row = await find(db, runId)
      if (row === undefined) return undefined
      const state = parseStored<unknown>(row.state)
      if (state === undefined) return skipDamaged('checkpoint', runId)
      return { epoch: row.epoch, state }
    }
  }
}

function find(db: Kysely<Tables>, runId: string) {
  return db.selectFrom('checkpoint').selectAll().where('run_id', '=', runId).executeTakeFirst()
}
