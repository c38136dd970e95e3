import type { RunQueue } from '@svc/contract'
import type { Kysely } from 'kysely'
import type { Claimant, Dispatch } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { isAnyWaiting, leaseWaiting } from '../rows/queue-rows.ts'
import { putQueued } from '../rows/queued-start.ts'
import type { Tables } from '../tables.ts'

/** Queued runs, in SQL; `dispatch` takes those that may begin. */
export function createRunQueue(
  db: Kysely<Tables>,
  commit: Commit,
  claimant: Claimant,
  dispatch: Dispatch
): RunQueue {
  return {
    async add(run, first, checkpoint) {
      const start = { run, first, checkpoint }
      const known = await commit.writeAmongOthers((trx) => putQueued(trx, start, claimant.isShared))
      dispatch.left(run.runId)
      return known === 'new' ? undefined : known
    },
    next: (query) => dispatch.next(query),
    async withdraw(runId) {
      const node = claimant.isShared ? { node_id: await claimant.id() } : {}
      const epoch = await commit.writeAmongOthers((trx) => leaseWaiting(trx, runId, node))
      if (epoch !== undefined) dispatch.taken(runId)
      return epoch
    },
    isWaiting: () => isAnyWaiting(db),
    serve: (concurrency, take) => dispatch.serve(concurrency, take),
    look: () => dispatch.look(),
    ...(dispatch.ended && { ended: dispatch.ended })
  }
}
