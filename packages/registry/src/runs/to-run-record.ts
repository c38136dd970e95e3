import type { PendingApproval, RunRecord } from '../contract/run-record.ts'
import type { StoredRun } from '../stores/run-store.ts'
import { toPartError } from './run-error.ts'

/** A stored run as clients see it: times in ISO 8601, approvals that wait only. */
export function toRunRecord(run: StoredRun): RunRecord {
  const { runId, kind, name, sessionId, status, result, error } = run
  return {
    runId,
    kind,
    name,
    sessionId,
    status,
    createdAt: new Date(run.createdAt).toISOString(),
    updatedAt: new Date(run.updatedAt).toISOString(),
    ...(result !== null && { result }),
    ...(error !== null && { error: toPartError(error) }),
    pendingApprovals: toPendingApprovals(run)
  }
}

/** The approvals that a run waits for. */
export function toPendingApprovals(run: StoredRun): PendingApproval[] {
  if (run.status !== 'input-required') return []
  return run.approvals
    .filter((approval) => approval.answer === null)
    .map(({ approvalId, toolCallId, toolName, args, expiresAt, source }) => ({
      approvalId,
      runId: run.runId,
      toolCallId,
      toolName,
      args,
      expiresAt: new Date(expiresAt).toISOString(),
      ...(source.length > 0 && { source: [...source] })
    }))
}
