import type { RunStore } from '@svc/contract'
import { RUN_ERR_DAMAGED } from '@svc/contract/errors'
import { MAX_LISTED_ARGS } from '@svc/contract/stores'
import { sql, type Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import { parseStored, readLarge, RESULT } from '../encoding/values.ts'
import type { Removals } from '../maintenance/create-sweeps.ts'
import { findInput, listInputs } from '../rows/input-lists.ts'
import {
  findByStartKey,
  findRun,
  listChangedRuns,
  listLeftRuns,
  listOwnedRuns,
  listRuns
} from '../rows/run-lists.ts'
import { findSteer, offerSteer, TERMINAL, toRuns } from '../rows/run-rows.ts'
import type { RunSources, Tables } from '../tables.ts'

/** Runs and the journal of their steps, in SQL; what runs write goes through a `RunWriter`. */
export function createRunStore(
  db: Kysely<Tables>,
  sources: RunSources,
  commit: Commit,
  sweep: RunStore['sweep'],
  removals: Removals
): Omit<RunStore, 'create' | 'lease' | 'recordStep'> {
  return {
    async get(runId) {
      const rows = await db.selectFrom('run').selectAll().where('run_id', '=', runId).execute()
      return (await toRuns(db, rows))[0]
    },
    find: (runId) => findRun(db, runId),
    findStarted: (run) => findByStartKey(db, run),
    freeStartKey: (runId) =>
      commit.writeAmongOthers(async (trx) => {
        await trx
          .updateTable('run')
          .set({ start_key: null, start_hash: null })
          .where('run_id', '=', runId)
          .where('status', 'in', TERMINAL)
          .execute()
      }),
    async *readResult(runId) {
      const row = db.selectFrom('run').select('result').where('run_id', '=', runId)
      const { result } = (await row.executeTakeFirst()) ?? {}
      if (typeof result === 'string') yield result
      else yield* readLarge(db, runId, RESULT)
    },
    list: (query) => listRuns(db, sources, query),
    listChanged: (query) => listChangedRuns(db, sources, query),
    listLeft: (query) => listLeftRuns(db, query),
    listOwned: (query) => listOwnedRuns(db, sources, query),
    listInputs: (query) => listInputs(db, sources, query),
    findInput: (inputId) => findInput(db, inputId),
    async *readArgs(inputId) {
      const row = db.selectFrom('run_input').select(['run_id', 'args', 'args_bytes'])
      const { run_id, args, args_bytes } =
        (await row.where('input_id', '=', inputId).executeTakeFirst()) ?? {}
      if (run_id === undefined || typeof args !== 'string') return
      if (args_bytes! <= MAX_LISTED_ARGS) yield args
      else yield* readLarge(db, run_id, inputId)
    },
    requestCancel: (runId, leftTurn) =>
      commit.writeAmongOthers(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('run')
          .set({
            cancel_at: sql`coalesce(cancel_at, current_timestamp)`,
            ...(leftTurn && {
              left_turn: sql`case when cancel_at is null then ${JSON.stringify(leftTurn)} else left_turn end`
            })
          })
          .where('run_id', '=', runId)
          .where('status', 'not in', TERMINAL)
          .executeTakeFirst()
        return numUpdatedRows === 1n
      }),
    answerInput: (runId, inputId, answer) =>
      commit.writeAmongOthers(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('run_input')
          .set({ answer: JSON.stringify(answer) })
          .where('input_id', '=', inputId)
          .where('answer', 'is', null)
          .where('run_id', 'in', (select) =>
            select
              .selectFrom('run')
              .select('run_id')
              .where('run_id', '=', runId)
              .where('status', 'not in', TERMINAL)
          )
          .executeTakeFirst()
        return numUpdatedRows === 1n
      }),
    replaceAnswer: (inputId, sealed, answer, sealKey) =>
      commit.writeAmongOthers(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('run_input')
          .set({ answer: answer && JSON.stringify(answer), seal_key: sealKey ?? null })
          .where('input_id', '=', inputId)
          .where((input) =>
            sealed === null ? input('answer', 'is', null) : input('answer', '=', JSON.stringify(sealed))
          )
          .executeTakeFirst()
        return numUpdatedRows === 1n
      }),
    async readStep(runId, key) {
      const row = await db
        .selectFrom('run_step')
        .select('output')
        .where('run_id', '=', runId)
        .where('key', '=', key)
        .executeTakeFirst()
      if (row === undefined || row.output === null) return row && { output: undefined }
      const output = parseStored<unknown>(row.output)
      if (output === undefined) throw new RUN_ERR_DAMAGED(`step ${key}`)
      return { output }
    },
    offerSteer: (steer) => commit.write((trx) => offerSteer(trx, steer)),
    findSteer: (steerId) => findSteer(db, steerId),
    remove: (runId) => removals.remove(commit, [runId]),
    sweep,
    onRemove: (listener) => removals.listen(listener)
  }
}
