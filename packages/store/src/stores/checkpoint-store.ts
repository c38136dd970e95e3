import { RUN_ERR_FENCED, type CheckpointStore } from '@svc/registry'
import { sql, type Kysely } from 'kysely'
import { Refused, type Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'

/** Checkpoints of resumable runs, in SQL. */
export function createCheckpointStore(
  db: Kysely<Tables>,
  commit: Commit,
  skipDamaged: SkipDamaged
): CheckpointStore {
  return {
    save: (runId, epoch, state) =>
      commit.write(async (trx) => {
        const last = await find(trx, runId)
        if (last !== undefined && last.epoch > epoch) throw new Refused(new RUN_ERR_FENCED(runId))
        const row = { run_id: runId, epoch, state: JSON.stringify(state) }
        await trx
          .insertInto('checkpoint')
          .values(row)
          .onConflict((conflict) => conflict.column('run_id').doUpdateSet(row))
          .execute()
      }),
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
    },
    remove: (runId) =>
      commit.write(async (trx) => {
        await trx.deleteFrom('checkpoint').where('run_id', '=', runId).execute()
      })
  }
}

function find(db: Kysely<Tables>, runId: string) {
  return db.selectFrom('checkpoint').selectAll().where('run_id', '=', runId).executeTakeFirst()
}
