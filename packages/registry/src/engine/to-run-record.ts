import {
  toPartError,
  type InputSummary,
  type PendingApproval,
  type PendingInput,
  type RunRecord,
  type RunSummary
} from '@svc/contract'

/** A run as clients see it, without its result; times in ISO 8601, pending approvals and inputs only. */
export function toRunRecord(run: RunSummary): Omit<RunRecord, 'result'> {
  const { runId, kind, name, sessionId, status, queuePosition, metadata, error, waiting } = run
  const { approvals, inputs } = waiting
  return {
    runId,
    kind,
    name,
    sessionId,
    status,
    createdAt: new Date(run.createdAt).toISOString(),
    updatedAt: new Date(run.updatedAt).toISOString(),
    ...(queuePosition !== null && { queuePosition }),
    ...(metadata !== null && { metadata }),
    ...(error !== null && { error: toPartError(error) }),
    pendingApprovals: approvals.first.map((approval) => toPendingApproval(runId, approval)),
    pendingApprovalCount: approvals.count,
    pendingInputs: inputs.first.map((input) => toPendingInput(runId, input)),
    pendingInputCount: inputs.count
  }
}

/** A pending approval as clients see it. */
export function toPendingApproval(runId: string, approval: InputSummary): PendingApproval {
  const { inputId: approvalId, toolCallId = '', toolName = '' } = approval
  return { approvalId, runId, toolCallId, toolName, ...argsAndTime(approval) }
}

/** A pending question or client tool as clients see it. */
export function toPendingInput(runId: string, input: InputSummary): PendingInput {
  const { inputId, kind, message, schema, toolCallId, toolName } = input
  return {
    inputId,
    runId,
    kind: kind as PendingInput['kind'],
    ...(message !== undefined && { message }),
    ...(schema !== undefined && { schema }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(toolName !== undefined && { toolName }),
    ...argsAndTime(input)
  }
}

function argsAndTime({ args, argsPreview, argsBytes, expiresAt, source }: InputSummary) {
  return {
    ...(args !== undefined && { args }),
    ...(argsPreview !== undefined && { argsPreview }),
    argsBytes,
    expiresAt: new Date(expiresAt).toISOString(),
    ...(source.length > 0 && { source: [...source] })
  }
}
