import type { PendingApproval, RunRecord } from '../contract/run-record.ts'
import type { ApprovalSummary, RunSummary } from '../contract/ports/run-store.ts'
import { toPartError } from './run-error.ts'

/** A run as clients see it, without its result; times in ISO 8601, pending approvals only. */
export function toRunRecord(run: RunSummary): Omit<RunRecord, 'result'> {
  const { runId, kind, name, sessionId, status, metadata, error, waiting } = run
  return {
    runId,
    kind,
    name,
    sessionId,
    status,
    createdAt: new Date(run.createdAt).toISOString(),
    updatedAt: new Date(run.updatedAt).toISOString(),
    ...(metadata !== null && { metadata }),
    ...(error !== null && { error: toPartError(error) }),
    pendingApprovals: waiting.approvals.map((approval) => toPendingApproval(runId, approval)),
    pendingApprovalCount: waiting.count
  }
}

/** A pending approval as clients see it. */
export function toPendingApproval(runId: string, approval: ApprovalSummary): PendingApproval {
  const { approvalId, toolCallId, toolName, args, argsPreview, argsBytes, expiresAt, source } = approval
  return {
    approvalId,
    runId,
    toolCallId,
    toolName,
    ...(args !== undefined && { args }),
    ...(argsPreview !== undefined && { argsPreview }),
    argsBytes,
    expiresAt: new Date(expiresAt).toISOString(),
    ...(source.length > 0 && { source: [...source] })
  }
}
