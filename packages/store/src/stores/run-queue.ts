import type { NextQuery, NextRun, RunQueue } from '@svc/contract'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Claimant, Dispatch } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { findNext, isAnyWaiting } from '../rows/queue-rows.ts'
import { putQueued } from '../rows/queued-start.ts'
import type { Tables } from '../tables.ts'

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
