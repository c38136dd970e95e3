import {
  ANONYMOUS,
  defined,
  newRunId,
  randomId,
  toPartError,
  type InputSummary,
  type PartOf,
  type PendingApproval,
  type PendingInput,
  type Runnable,
  type RunRecord,
  type RunSummary,
  type StoredRun
} from '@svc/contract'
import type { RegistryIds } from './run-host.ts'
import type { StartOptions } from './start-options.ts'

/** Creates the record of a new run. */
export function newRun(
  runnable: Runnable,
  { registry, principal = ANONYMOUS, userId, sessionId = randomId(), startKey, metadata }: StartOptions,
  surfaces: RegistryIds
): StoredRun {
  const { kind, name } = runnable
  const now = Date.now()
  return {
    runId: newRunId(now),
    registry: registry ?? surfaces.registryOf(runnable),
    kind,
    name,
    sessionId,
    owner: principal.sub,
    ...(userId !== undefined && principal.sub === ANONYMOUS.sub && { userId }),
    startKey: startKey ?? null,
    metadata: metadata ?? null,
    createdAt: now,
    queuedAt: null,
    updatedAt: now,
    status: 'submitted',
    epoch: 1,
    result: null,
    error: null,
    cancelRequested: false,
    leftTurn: null,
    inputs: []
  }
}

/** The first part of a run. */
export function toStartPart(
  { runId, sessionId, kind, name, metadata }: StoredRun,
  { afterTurn }: StartOptions,
  isQueued = false
): PartOf<'start'> {
  return {
    type: 'start',
    runId,
    sessionId,
    kind,
    name,
    ...(metadata !== null && { metadata }),
    ...(afterTurn !== undefined && { afterTurn }),
    ...(isQueued && { queued: true })
  }
}

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
    ...defined({ message, schema, toolCallId, toolName }),
    ...argsAndTime(input)
  }
}

function argsAndTime({ args, argsPreview, argsBytes, expiresAt, source }: InputSummary) {
  return {
    ...defined({ args, argsPreview }),
    argsBytes,
    expiresAt: new Date(expiresAt).toISOString(),
    ...(source.length > 0 && { source: [...source] })
  }
}
