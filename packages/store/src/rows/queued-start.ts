import type { LogEntry, QueuedStart, RunSummary, StoredRun } from '@svc/contract'
import type { Transaction } from 'kysely'
import type { Tables } from '../tables.ts'
import { findByStartKey } from './run-lists.ts'
import { PART_BYTES, toRunRow } from './run-rows.ts'

/**
 * Puts a run into the queue, with the first part of its log and its checkpoint. Returns an earlier run with its start key if there is one,
 * and undefined if it waits already, or has ended before it could.
 */
export async function putQueued(
  trx: Transaction<Tables>,
  { run, first, checkpoint }: QueuedStart,
  isShared: boolean
): Promise<'new' | RunSummary | undefined> {
  const known = await putRun(trx, run, isShared)
  if (known === 'new') await putStart(trx, run.runId, first, checkpoint)
  return known
}

async function putRun(
  trx: Transaction<Tables>,
  run: StoredRun,
  isShared: boolean
): Promise<'new' | RunSummary | undefined> {
  const { runId } = run
  const insert = trx.insertInto('run').values(toRunRow(run))
  const { numInsertedOrUpdatedRows } = await insert
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows !== 0n) return 'new'
  const { numUpdatedRows } = await trx
    .updateTable('run')
    .set({ epoch: 0, queued_at: run.queuedAt, ...(isShared && { node_id: null }) })
    .where('run_id', '=', runId)
    .where('epoch', '=', 1)
    .where('queued_at', 'is', null)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows !== 0n) return 'new'
  const same = trx.selectFrom('run').select('run_id').where('run_id', '=', runId)
  if ((await same.executeTakeFirst()) !== undefined) return undefined
  const earlier = await findByStartKey(trx, run)
  if (earlier === undefined) throw new Error(`run ${runId} cannot be queued`)
  return earlier
}

async function putStart(
  trx: Transaction<Tables>,
  runId: string,
  { seq, json }: LogEntry,
  checkpoint: unknown
): Promise<void> {
  await trx.insertInto('run_part').values({ run_id: runId, seq, json }).execute()
  const state = JSON.stringify(checkpoint)
  await trx.insertInto('checkpoint').values({ run_id: runId, epoch: 0, state }).execute()
  await trx
    .updateTable('run')
    .set({ bytes: Buffer.byteLength(json) + PART_BYTES })
    .where('run_id', '=', runId)
    .execute()
}
