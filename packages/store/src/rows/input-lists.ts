import type {
  FoundInput,
  InputPage,
  InputQuery,
  InputSummary,
  PendingSummary,
  RunSummary
} from '@svc/contract'
import {
  formatInputCursor,
  MAX_LISTED_INPUTS,
  NOTHING_PENDING,
  parseInputCursor,
  runIdOf
} from '@svc/contract/stores'
import { sql, type ExpressionBuilder, type Kysely, type Selectable } from 'kysely'
import { toInputSummary } from './input-rows.ts'
import { isIn } from './session-rows.ts'
import type { RunSources, Tables } from '../tables.ts'

type Joined = Selectable<Tables['run_input']> &
  Pick<Selectable<Tables['run']>, 'registry' | 'owner' | 'created_at' | 'status'> & {
    run_kind: Tables['run']['kind']
    name: string
  }

// Worded like the condition of a partial index, so that SQLite uses it.
const isNotCompleted = sql<boolean>`r.status <> 'completed'`

/** What a run waits for that waits for nothing. */
export const NOTHING_WAITING: RunSummary['waiting'] = {
  approvals: NOTHING_PENDING,
  inputs: NOTHING_PENDING
}

/** The pending inputs of a run: its first approvals and its first other inputs, with the totals. */
export async function readWaiting(db: Kysely<Tables>, runId: string): Promise<RunSummary['waiting']> {
  return {
    approvals: await readPending(db, runId, '='),
    inputs: await readPending(db, runId, '<>')
  }
}

async function readPending(db: Kysely<Tables>, runId: string, is: '=' | '<>'): Promise<PendingSummary> {
  const waiting = db
    .selectFrom('run_input')
    .where('run_id', '=', runId)
    .where('answer', 'is', null)
    .where('kind', is, 'approval')
  const rows = await waiting
    .selectAll()
    .orderBy('expires_at')
    .orderBy('input_id')
    .limit(MAX_LISTED_INPUTS)
    .execute()
  const first = rows.map(toInputSummary).filter(isOpen)
  if (rows.length < MAX_LISTED_INPUTS) return { first, count: first.length }
  const { count } = await waiting
    .select((input) => input.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { first, count }
}

/** One input, answered or not. */
export async function findInput(db: Kysely<Tables>, inputId: string): Promise<FoundInput | undefined> {
  const row = await joined(db, 'run').where('input_id', '=', inputId).executeTakeFirst()
  return row && toFound(row)
}

/** A page of pending inputs, those of the newest run first. @throws REG_ERR_BAD_CURSOR */
export async function listInputs(
  db: Kysely<Tables>,
  { open }: Pick<RunSources, 'open'>,
  { kinds, scope, owner, runId, limit, cursor }: InputQuery
): Promise<InputPage> {
  // Unfinished runs are not found by their ids alone.
  let query = joined(db, runId === undefined ? open : 'run')
    .where('r.status', '=', 'input-required')
    .where('run_input.answer', 'is', null)
    .where('run_input.kind', 'in', kinds)
  query = owner === undefined ? query.where(isNotCompleted) : query.where('r.owner', '=', owner)
  if (scope !== undefined) query = query.where(isIn(scope, 'r.kind') as never)
  if (runId !== undefined) query = query.where('r.run_id', '=', runId)
  if (cursor !== undefined) query = query.where(isAfter(cursor))
  const rows = await query
    .orderBy('r.created_at', 'desc')
    .orderBy('r.run_id', 'desc')
    .orderBy('run_input.expires_at')
    .orderBy('run_input.input_id')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit).map(toFound)
  const last = page.at(-1)
  const inputs = page.filter(({ input }) => isOpen(input))
  return { inputs, nextCursor: last && rows.length > limit ? formatInputCursor(last) : null }
}

// A damaged input counts as answered.
function isOpen({ answer }: InputSummary): boolean {
  return answer === null
}

function joined(db: Kysely<Tables>, from: RunSources['open']) {
  return db
    .selectFrom(`${from} as r` as 'run as r')
    .innerJoin('run_input', 'run_input.run_id', 'r.run_id')
    .selectAll('run_input')
    .select(['r.registry', 'r.kind as run_kind', 'r.name', 'r.owner', 'r.created_at', 'r.status'])
}

function isAfter(cursor: string) {
  const { createdAt, expiresAt, inputId } = parseInputCursor(cursor)
  const runId = runIdOf(inputId)
  return (both: ExpressionBuilder<Tables & { r: Tables['run'] }, 'r' | 'run_input'>) => {
    const run = both.refTuple('r.created_at', 'r.run_id')
    const input = both.refTuple('run_input.expires_at', 'run_input.input_id')
    return both.and([
      both(run, '<=', both.tuple(createdAt, runId)),
      both.or([
        both(run, '<', both.tuple(createdAt, runId)),
        both(input, '>', both.tuple(expiresAt, inputId))
      ])
    ])
  }
}

function toFound(row: Joined): FoundInput {
  const { run_id: runId, registry, run_kind: kind, name, owner, created_at: createdAt, status } = row
  return { run: { runId, registry, kind, name, owner, createdAt, status }, input: toInputSummary(row) }
}
