import { RUN_ERR_FENCED, type CheckpointStore } from '@svc/registry'
import { sql, type Kysely } from 'kysely'
import { Refused, type GroupCommit } from './group-commit.ts'
import type { Tables } from './tables.ts'

/** Checkpoints of resumable runs, on SQL. */
export function createCheckpointStore(db: Kysely<Tables>, commit: GroupCommit): CheckpointStore {
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
      return row && { epoch: row.epoch, state: JSON.parse(row.state) as unknown }
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
