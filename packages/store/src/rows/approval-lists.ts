import type { ApprovalPage, ApprovalQuery, ApprovalSummary, FoundApproval, RunSummary } from '@svc/registry'
import {
  formatApprovalCursor,
  MAX_LISTED_APPROVALS,
  parseApprovalCursor,
  runIdOf
} from '@svc/registry/store-kit'
import { sql, type ExpressionBuilder, type Kysely, type Selectable } from 'kysely'
import { toApprovalSummary } from './approval-rows.ts'
import { isIn } from './in-scope.ts'
import type { Tables } from '../tables.ts'

type Joined = Selectable<Tables['run_approval']> &
  Pick<Selectable<Tables['run']>, 'registry' | 'kind' | 'name' | 'owner' | 'created_at' | 'status'>

// Worded like the condition of a partial index, so that SQLite uses it.
const isNotCompleted = sql<boolean>`run.status <> 'completed'`

/** The pending approvals of a run: the first ones, and the total. */
export async function readWaiting(db: Kysely<Tables>, runId: string): Promise<RunSummary['waiting']> {
  const waiting = db.selectFrom('run_approval').where('run_id', '=', runId).where('answer', 'is', null)
  const rows = await waiting
    .selectAll()
    .orderBy('expires_at')
    .orderBy('approval_id')
    .limit(MAX_LISTED_APPROVALS)
    .execute()
  const approvals = rows.map(toApprovalSummary).filter(isOpen)
  if (rows.length < MAX_LISTED_APPROVALS) return { approvals, count: approvals.length }
  const { count } = await waiting
    .select((approval) => approval.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { approvals, count }
}

/** One approval, answered or not. */
export async function findApproval(
  db: Kysely<Tables>,
  approvalId: string
): Promise<FoundApproval | undefined> {
  const row = await joined(db).where('approval_id', '=', approvalId).executeTakeFirst()
  return row && toFound(row)
}

/** A page of pending approvals, those of the newest run first. @throws REG_ERR_BAD_CURSOR */
export async function listApprovals(
  db: Kysely<Tables>,
  { scope, owner, runId, limit, cursor }: ApprovalQuery
): Promise<ApprovalPage> {
  let query = joined(db).where('run.status', '=', 'input-required').where('run_approval.answer', 'is', null)
  query = owner === undefined ? query.where(isNotCompleted) : query.where('run.owner', '=', owner)
  if (scope !== undefined) query = query.where(isIn(scope))
  if (runId !== undefined) query = query.where('run.run_id', '=', runId)
  if (cursor !== undefined) query = query.where(isAfter(cursor))
  const rows = await query
    .orderBy('run.created_at', 'desc')
    .orderBy('run.run_id', 'desc')
    .orderBy('run_approval.expires_at')
    .orderBy('run_approval.approval_id')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit).map(toFound)
  const last = page.at(-1)
  const approvals = page.filter(({ approval }) => isOpen(approval))
  return { approvals, nextCursor: last && rows.length > limit ? formatApprovalCursor(last) : null }
}

// A damaged approval counts as answered.
function isOpen({ answer }: ApprovalSummary): boolean {
  return answer === null
}

function joined(db: Kysely<Tables>) {
  return db
    .selectFrom('run')
    .innerJoin('run_approval', 'run_approval.run_id', 'run.run_id')
    .selectAll('run_approval')
    .select(['run.registry', 'run.kind', 'run.name', 'run.owner', 'run.created_at', 'run.status'])
}

function isAfter(cursor: string) {
  const { createdAt, expiresAt, approvalId } = parseApprovalCursor(cursor)
  const runId = runIdOf(approvalId)
  return (both: ExpressionBuilder<Tables, 'run' | 'run_approval'>) => {
    const run = both.refTuple('run.created_at', 'run.run_id')
    const approval = both.refTuple('run_approval.expires_at', 'run_approval.approval_id')
    return both.and([
      both(run, '<=', both.tuple(createdAt, runId)),
      both.or([
        both(run, '<', both.tuple(createdAt, runId)),
        both(approval, '>', both.tuple(expiresAt, approvalId))
      ])
    ])
  }
}

function toFound(row: Joined): FoundApproval {
  const { run_id: runId, registry, kind, name, owner, created_at: createdAt, status } = row
  return { run: { runId, registry, kind, name, owner, createdAt, status }, approval: toApprovalSummary(row) }
}
