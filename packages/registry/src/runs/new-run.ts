import { randomUUID } from 'node:crypto'
import type { Runnable } from '../contract/runnable.ts'
import type { StartKey, StoredRun } from '../stores/run-store.ts'

/** The record of a run that begins; its id has 122 random bits. */
export function newRun(
  { kind, name }: Runnable,
  owner: string,
  sessionId: string = randomUUID(),
  startKey: StartKey | null = null
): StoredRun {
  const now = Date.now()
  return {
    runId: randomUUID(),
    kind,
    name,
    sessionId,
    owner,
    startKey,
    createdAt: now,
    updatedAt: now,
    status: 'submitted',
    epoch: 1,
    result: null,
    error: null,
    approvals: []
  }
}
