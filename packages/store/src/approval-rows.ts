import {
  MAX_LISTED_ARGS,
  previewOfJson,
  type ApprovalOutcome,
  type ApprovalSummary,
  type StoredApproval
} from '@svc/registry'
import type { Kysely, Selectable } from 'kysely'
import { insertLarge, parseLarge, toShortJson } from './large-values.ts'
import type { Tables } from './tables.ts'

type ApprovalRow = Selectable<Tables['run_approval']>

/** Adds an approval that waits. */
export async function insertApproval(
  db: Kysely<Tables>,
  runId: string,
  approval: StoredApproval
): Promise<void> {
  const { approvalId, args } = approval
  const json = toShortJson(args, MAX_LISTED_ARGS)
  const short = json === undefined || Buffer.byteLength(json) > MAX_LISTED_ARGS ? undefined : json
  const kept =
    short === undefined
      ? await insertLarge(db, runId, approvalId, args)
      : { bytes: Buffer.byteLength(short), first: short }
  await db
    .insertInto('run_approval')
    .values({
      approval_id: approvalId,
      run_id: runId,
      tool_call_id: approval.toolCallId,
      tool_name: approval.toolName,
      args: short === undefined ? previewOfJson(kept.first) : short || null,
      args_bytes: kept.bytes,
      source: JSON.stringify(approval.source),
      expires_at: approval.expiresAt,
      answer: approval.answer && JSON.stringify(approval.answer)
    })
    .execute()
}

/** Every approval of a run, with all its arguments. */
export async function readApprovals(db: Kysely<Tables>, runId: string): Promise<StoredApproval[]> {
  const rows = await db
    .selectFrom('run_approval')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('expires_at')
    .orderBy('approval_id')
    .execute()
  const approvals: StoredApproval[] = []
  for (const row of rows) {
    const { argsPreview, argsBytes: _, args, ...rest } = toApprovalSummary(row)
    const all = argsPreview === undefined ? args : await parseLarge(db, runId, row.approval_id)
    approvals.push({ ...rest, args: all })
  }
  return approvals
}

/** What is listed of an approval. */
export function toApprovalSummary(row: ApprovalRow): ApprovalSummary {
  const { args, args_bytes: argsBytes } = row
  return {
    approvalId: row.approval_id,
    toolCallId: row.tool_call_id,
    toolName: row.tool_name,
    ...(args !== null &&
      (argsBytes > MAX_LISTED_ARGS ? { argsPreview: args } : { args: JSON.parse(args) as unknown })),
    argsBytes,
    source: JSON.parse(row.source) as string[],
    expiresAt: row.expires_at,
    answer: row.answer === null ? null : (JSON.parse(row.answer) as ApprovalOutcome)
  }
}
