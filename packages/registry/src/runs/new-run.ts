import { randomUUID } from 'node:crypto'
import type { Runnable } from '../contract/runnable.ts'
import type { StoredRun } from '../stores/run-store.ts'

/** The record of a run that begins; its id has 122 random bits. */
export function newRun({ kind, name }: Runnable, owner: string, sessionId: string = randomUUID()): StoredRun {
  const runId = randomUUID()
  const now = Date.now()
  return {
    runId,
    kind,
    name,
    sessionId,
    owner,
    idempotencyKey: runId,
    createdAt: now,
    updatedAt: now,
    status: 'submitted',
    epoch: 1,
    result: null,
    error: null,
    approvals: []
  }
}
