import { randomUUID } from 'node:crypto'
import type { StoredRun } from '../stores/run-store.ts'
import { entryFromJson, type LogEntry } from '../stores/stream-log.ts'

/** A new run as an engine makes it. */
export function storedRun(fields: Partial<StoredRun> = {}): StoredRun {
  const runId = fields.runId ?? randomUUID()
  return {
    runId,
    kind: 'agent',
    name: 'echo',
    sessionId: 'session',
    owner: 'ada',
    idempotencyKey: runId,
    createdAt: 1_000,
    updatedAt: 1_000,
    status: 'submitted',
    epoch: 1,
    result: null,
    error: null,
    approvals: [],
    ...fields
  }
}

/** A text part of a log. */
export function textEntry(seq: number, text = `part ${seq}`): LogEntry {
  return entryFromJson(seq, JSON.stringify({ seq, type: 'text', text }))
}
