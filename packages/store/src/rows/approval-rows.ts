import type { ApprovalOutcome, ApprovalSummary, StoredApproval } from '@svc/registry'
import { MAX_LISTED_ARGS, previewOfJson } from '@svc/registry/store-kit'
import type { Kysely, Selectable } from 'kysely'
import { insertLarge, parseLarge, toShortJson } from '../encoding/large-values.ts'
import { parseStored } from '../encoding/stored-values.ts'
import type { Tables } from '../tables.ts'

// Approving damaged arguments would approve something unknown.
const DAMAGED: ApprovalOutcome = {
  approved: false,
  reason: 'the stored approval is damaged'
}

type ApprovalRow = Selectable<Tables['run_approval']>

/** Adds a pending approval. */
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

/** Every approval of a run, with full arguments. */
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
    const all = argsPreview === undefined ? args : await parseLarge<unknown>(db, runId, row.approval_id)
    const isDamaged = argsPreview !== undefined && all === undefined
    approvals.push({ ...rest, args: all, ...(isDamaged && { answer: DAMAGED }) })
  }
  return approvals
}

/** The summary of an approval in lists. */
export function toApprovalSummary(row: ApprovalRow): ApprovalSummary {
  const { args: json, args_bytes: argsBytes } = row
  const isLong = argsBytes > MAX_LISTED_ARGS
  const args = json === null || isLong ? null : parseStored<unknown>(json)
  const source = parseStored<string[]>(row.source)
  const answer = row.answer === null ? null : parseStored<ApprovalOutcome>(row.answer)
  const isDamaged = args === undefined || source === undefined || answer === undefined
  return {
    approvalId: row.approval_id,
    toolCallId: row.tool_call_id,
    toolName: row.tool_name,
    ...(json !== null && (isLong ? { argsPreview: json } : { args })),
    argsBytes,
    source: source ?? [],
    expiresAt: row.expires_at,
    answer: isDamaged ? DAMAGED : answer
  }
}
