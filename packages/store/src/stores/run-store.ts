import { type NextQuery, type NextRun, type RunQueue, type RunStore } from '@svc/contract'
import { RUN_ERR_DAMAGED } from '@svc/contract/errors'
import { MAX_LISTED_ARGS } from '@svc/contract/stores'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Claimant, Dispatch } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { parseStored, readLarge, RESULT } from '../encoding/values.ts'
import type { Removals } from '../maintenance/create-sweeps.ts'
import { findInput, listInputs } from '../rows/input-lists.ts'
import { findNext, isAnyWaiting } from '../rows/queue-rows.ts'
import { putQueued } from '../rows/queued-start.ts'
import {
  findByStartKey,
  findRun,
  listChangedRuns,
  listLeftRuns,
  listOwnedRuns,
  listRuns
} from '../rows/run-lists.ts'
import { findSteer, offerSteer, TERMINAL, toRuns } from '../rows/run-rows.ts'
import type { Tables } from '../tables.ts'

/** Runs and the journal of their steps, in SQL; what runs write goes through a `RunWriter`. */
export function createRunStore(
  db: Kysely<Tables>,
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
      commit.write(async (trx) => {
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
    list: (query) => listRuns(db, query),
    listChanged: (query) => listChangedRuns(db, query),
    listLeft: (query) => listLeftRuns(db, query),
    listOwned: (query) => listOwnedRuns(db, query),
    listInputs: (query) => listInputs(db, query),
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
      commit.write(async (trx) => {
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
      commit.write(async (trx) => {
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
      commit.write(async (trx) => {
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

// A run whose turn it is may be canceled in that moment.
const ATTEMPTS = 5

/** Queued runs, in SQL; `dispatch` notices when one may begin. */
export function createRunQueue(
  db: Kysely<Tables>,
  commit: Commit,
  claimant: Claimant,
  dispatch: Dispatch
): RunQueue {
  const lease = async (trx: Transaction<Tables>, runId: string, change: { status?: 'working' } = {}) => {
    const id = await claimant.id()
    const leased = await trx
      .updateTable('run')
      .set({
        epoch: 1,
        ...(claimant.isShared && { node_id: id }),
        ...(change.status && { status: change.status, updated_at: Date.now() })
      })
      .where('run_id', '=', runId)
      .where(sql<boolean>`epoch = 0 and ended_at is null`)
      .returning('epoch')
      .executeTakeFirst()
    return leased?.epoch
  }
  const leaseNext = async (trx: Transaction<Tables>, query: NextQuery): Promise<NextRun | undefined> => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const found = await findNext(trx, query)
      if (found === undefined) return undefined
      const epoch = await lease(trx, found.runId, { status: 'working' })
      if (epoch !== undefined) return { ...found, epoch }
    }
    return undefined
  }
  // What failed transactions may have leased: no other process begins these runs while this one lives.
  const unsureLeases: NextRun[] = []
  const leasedOf = async (trx: Transaction<Tables>, runs: readonly NextRun[]): Promise<NextRun[]> => {
    if (runs.length === 0) return []
    const id = await claimant.id()
    const ids = runs.map(({ runId }) => runId)
    const own = trx
      .selectFrom('run')
      .select('run_id')
      .where('run_id', 'in', ids)
      .where('ended_at', 'is', null)
    const leased = await own
      .where('epoch', '=', 1)
      .where('status', '=', 'working')
      .$if(claimant.isShared, (all) => all.where('node_id', '=', id))
      .execute()
    return runs.filter(({ runId }) => leased.some((row) => row.run_id === runId))
  }
  return {
    requireInstalled: () => dispatch.requireInstalled?.(),
    async add(run, first, checkpoint) {
      await dispatch.ready()
      const earlier = await commit.writeAmongOthers(async (trx) => {
        const known = await putQueued(trx, { run, first, checkpoint }, claimant.isShared)
        if (known !== 'new') return known
        await dispatch.added(trx)
        return undefined
      })
      dispatch.left(run.runId)
      return earlier
    },
    async next(query) {
      const unsure = unsureLeases.splice(0)
      const tried = [...unsure]
      let own: NextRun[] = []
      try {
        const next = await commit.writeAlone('queue', async (trx) => {
          own = await leasedOf(trx, unsure)
          const found = own.shift() ?? (await leaseNext(trx, query))
          if (found !== undefined) tried.push(found)
          return found
        })
        unsureLeases.push(...own)
        if (next !== undefined) dispatch.taken(next.runId)
        return next
      } catch (err) {
        unsureLeases.push(...tried)
        throw err
      }
    },
    async withdraw(runId) {
      const epoch = await commit.writeAmongOthers((trx) => lease(trx, runId))
      if (epoch !== undefined) dispatch.taken(runId)
      return epoch
    },
    isWaiting: () => isAnyWaiting(db),
    serve: (concurrency, take) => dispatch.serve(concurrency, take),
    look: () => dispatch.look()
  }
}
