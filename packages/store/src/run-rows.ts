import {
  isTerminalStatus,
  RUN_ERR_DAMAGED,
  RUN_ERR_FENCED,
  toStoredError,
  type ApprovalOutcome,
  type RunChange,
  type RunResult,
  type RunStatus,
  type StoredApproval,
  type StoredError,
  type StoredRun
} from '@svc/registry'
import type { Kysely, Selectable } from 'kysely'
import { Refused } from './group-commit.ts'
import { parseStored } from './stored-json.ts'
import type { Tables } from './tables.ts'

/** States that no move leaves. */
export const TERMINAL: RunStatus[] = ['completed', 'failed', 'canceled']

/** All others. */
export const UNFINISHED: RunStatus[] = ['submitted', 'working', 'input-required']

/** What a part costs beside its JSON: its keys, twice, and its place in a page. */
export const PART_BYTES = 100

/** A run as its row. */
export function toRunRow(run: StoredRun): Tables['run'] {
  return {
    run_id: run.runId,
    registry: run.registry,
    kind: run.kind,
    name: run.name,
    session_id: run.sessionId,
    owner: run.owner,
    start_key: run.startKey?.key ?? null,
    start_hash: run.startKey?.hash ?? null,
    created_at: run.createdAt,
    updated_at: run.updatedAt,
    status: run.status,
    epoch: run.epoch,
    result: run.result && JSON.stringify(run.result),
    error: run.error && JSON.stringify(run.error),
    bytes: 0,
    ended_at: endOf(run.status, run.updatedAt)
  }
}

function endOf(status: RunStatus, at: number): number | null {
  return isTerminalStatus(status) ? at : null
}

/** An approval as its row. */
function toApprovalRow(runId: string, approval: StoredApproval): Tables['run_approval'] {
  return {
    approval_id: approval.approvalId,
    run_id: runId,
    tool_call_id: approval.toolCallId,
    tool_name: approval.toolName,
    args: JSON.stringify(approval.args) ?? null,
    source: JSON.stringify(approval.source),
    expires_at: approval.expiresAt,
    answer: approval.answer && JSON.stringify(approval.answer)
  }
}

/** Runs from their rows, with their approvals. */
export async function toRuns(
  db: Kysely<Tables>,
  rows: readonly Selectable<Tables['run']>[]
): Promise<StoredRun[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.run_id)
  const approvals = await db
    .selectFrom('run_approval')
    .selectAll()
    .where('run_id', 'in', ids)
    .orderBy('expires_at')
    .orderBy('approval_id')
    .execute()
  return rows.map((row) =>
    toRun(
      row,
      approvals.filter((approval) => approval.run_id === row.run_id)
    )
  )
}

function toRun(row: Tables['run'], approvals: readonly Tables['run_approval'][]): StoredRun {
  const result = row.result === null ? null : parseStored<RunResult>(row.result)
  const error = row.error === null ? null : parseStored<StoredError>(row.error)
  const isDamaged = result === undefined || error === undefined
  return {
    runId: row.run_id,
    registry: row.registry,
    kind: row.kind,
    name: row.name,
    sessionId: row.session_id,
    owner: row.owner,
    startKey: row.start_key === null ? null : { key: row.start_key, hash: row.start_hash ?? '' },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    status: isDamaged ? 'failed' : row.status,
    epoch: row.epoch,
    result: isDamaged ? null : result,
    error: isDamaged ? toStoredError(new RUN_ERR_DAMAGED('how it ended')) : error,
    approvals: approvals.map(toApproval)
  }
}

function toApproval(row: Tables['run_approval']): StoredApproval {
  const args = row.args === null ? null : parseStored<unknown>(row.args)
  const source = parseStored<string[]>(row.source)
  const answer = row.answer === null ? null : parseStored<ApprovalOutcome>(row.answer)
  const isDamaged = args === undefined || source === undefined || answer === undefined
  return {
    approvalId: row.approval_id,
    toolCallId: row.tool_call_id,
    toolName: row.tool_name,
    args: row.args === null ? undefined : args,
    source: source ?? [],
    expiresAt: row.expires_at,
    // Nobody can know what would be approved.
    answer: isDamaged ? { approved: false, reason: 'what was stored of the approval is damaged' } : answer
  }
}

/**
 * Changes a run that is leased with this epoch and has not ended, and counts the bytes that are written with it.
 * @throws Refused with RUN_ERR_FENCED
 */
export async function changeRun(
  db: Kysely<Tables>,
  runId: string,
  epoch: number,
  bytes: number,
  change?: RunChange
): Promise<void> {
  const result = change?.result && JSON.stringify(change.result)
  const { numUpdatedRows } = await db
    .updateTable('run')
    .set((set) => ({
      bytes: set('bytes', '+', bytes + Buffer.byteLength(result ?? '')),
      ...(change && {
        status: change.status,
        updated_at: change.at,
        ended_at: endOf(change.status, change.at)
      }),
      ...(result && { result }),
      ...(change?.error && { error: JSON.stringify(change.error) })
    }))
    .where('run_id', '=', runId)
    .where('epoch', '=', epoch)
    .where('status', 'not in', TERMINAL)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new Refused(new RUN_ERR_FENCED(runId))
  if (change?.approval !== undefined)
    await db.insertInto('run_approval').values(toApprovalRow(runId, change.approval)).execute()
}
