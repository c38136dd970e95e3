import { newRunId, randomId, RUN_FORMAT, type StoredRun } from '@svc/contract'
import type { Commit } from '../commit.ts'
import { removeRuns, toRunRow } from '../rows/run-rows.ts'

// Milliseconds to wait for another program's lock.
const PATIENCE = 1_000

/**
 * Inserts a run and removes it again, in one transaction: proves that the next run can be written.
 * @throws the error of the database
 */
export async function probe(commit: Commit): Promise<void> {
  const run = probedRun()
  await commit.write(async (trx) => {
    await trx.insertInto('run').values(toRunRow(run)).execute()
    await trx.insertInto('run_part').values({ run_id: run.runId, seq: 1, json: '{}' }).execute()
    await removeRuns(trx, [run.runId])
  }, PATIENCE)
}

function probedRun(): StoredRun {
  const now = Date.now()
  return {
    runId: newRunId(),
    kind: 'agent',
    name: 'probe',
    registry: 'probe',
    sessionId: randomId(),
    owner: 'probe',
    startKey: null,
    metadata: null,
    createdAt: now,
    queuedAt: null,
    updatedAt: now,
    status: 'submitted',
    epoch: 1,
    format: RUN_FORMAT,
    result: null,
    error: null,
    cancelRequested: false,
    leftTurn: null,
    inputs: []
  }
}
