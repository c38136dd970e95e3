import { formatApprovalCursor, parseApprovalCursor, runIdOf } from '../run-cursor.ts'
import { createScopeFilter } from '../../contract/ports/run-scope.ts'
import type {
  ApprovalPage,
  ApprovalQuery,
  ApprovalSummary,
  FoundApproval,
  RunSummary,
  StoredApproval,
  StoredRun
} from '../../contract/ports/run-store.ts'
import { firstToExpire, summarizeApproval, summarizeRun, waitingOf } from '../summarize-run.ts'
import type { RunEntry } from './run-table.ts'

/** Summarizes a run for a list. */
export function summaryOf(run: RunEntry): RunSummary {
  return summarizeRun(run.record, run, (approval) => summarize(run, approval))
}

/** Summarizes an approval; its arguments are encoded once, however often it is listed. */
export function summarize(run: RunEntry, approval: StoredApproval): ApprovalSummary {
  const summaries = (run.summaries ??= new Map())
  let summary = summaries.get(approval.approvalId)
  if (summary === undefined) summaries.set(approval.approvalId, (summary = summarizeApproval(approval)))
  return { ...summary, answer: approval.answer }
}

/** An approval with its run. */
export function findApproval(run: RunEntry | undefined, approvalId: string): FoundApproval | undefined {
  const approval = run?.record.approvals.find((each) => each.approvalId === approvalId)
  return run && approval && toFound(run, approval)
}

/** Lists a page of pending approvals, those of the newest run first. @throws REG_ERR_BAD_CURSOR */
export function listApprovals(
  kept: readonly RunEntry[],
  { scope, owner, runId, limit, cursor }: ApprovalQuery
): ApprovalPage {
  const after = cursor === undefined ? undefined : parseApprovalCursor(cursor)
  const last = after && { createdAt: after.createdAt, runId: runIdOf(after.approvalId) }
  const isInScope = scope === undefined ? () => true : createScopeFilter(scope)
  const waiting = kept
    .filter(
      ({ record }) =>
        record.status === 'input-required' &&
        (owner === undefined || record.owner === owner) &&
        (runId === undefined || record.runId === runId) &&
        (last === undefined || newestFirst(record, last) >= 0) &&
        isInScope(record)
    )
    .sort((a, b) => newestFirst(a.record, b.record))

  const approvals: FoundApproval[] = []
  for (const run of waiting) {
    for (const approval of waitingOf(run.record)) {
      if (after && run.record.runId === last!.runId && firstToExpire(approval, after) <= 0) continue
      if (approvals.length === limit)
        return { approvals, nextCursor: formatApprovalCursor(approvals.at(-1)!) }
      approvals.push(toFound(run, approval))
    }
  }
  return { approvals, nextCursor: null }
}

function toFound(run: RunEntry, approval: StoredApproval): FoundApproval {
  const { runId, registry, kind, name, owner, createdAt, status } = run.record
  return {
    run: { runId, registry, kind, name, owner, createdAt, status },
    approval: summarize(run, approval)
  }
}

type Begun = Pick<StoredRun, 'createdAt' | 'runId'>

function newestFirst(a: Begun, b: Begun): number {
  return b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}
