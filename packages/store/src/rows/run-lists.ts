import {
  hasMetadata,
  type ChangedRunPage,
  type ChangedRunQuery,
  type InputKind,
  type LeftPage,
  type LeftQuery,
  type MetadataFilter,
  type OwnedRunQuery,
  type RunPage,
  type RunQuery,
  type RunStats,
  type RunSummary,
  type StoredRun,
  type Wanted
} from '@svc/contract'
import { formatRunCursor, pageOf, parseRunCursor } from '@svc/contract/stores'
import {
  sql,
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool
} from 'kysely'
import { parseStored } from '../encoding/values.ts'
import type { Tables } from '../tables.ts'
import { NOTHING_WAITING, readWaiting } from './input-lists.ts'
import { readPositions } from './queue-rows.ts'
import { parseMetadata, toRunHead, UNFINISHED } from './run-rows.ts'
import { isIn } from './session-rows.ts'

/** The column by which a list is in order. */
export type Time = 'created_at' | 'updated_at'

/** Runs whose metadata one page reads at most; then even a short page has a cursor. */
const MAX_SCANNED = 500

/** The ids of a page of runs that have a text in their metadata, by a time, the latest first. */
async function scanMetadata(
  query: SelectQueryBuilder<Tables, 'run', object>,
  filter: MetadataFilter,
  time: Time,
  limit: number
): Promise<{ ids: string[]; nextCursor: string | null }> {
  // An index by `created_at` has only runs with metadata; by `updated_at` those without count too.
  const candidates = time === 'created_at' ? query.where('metadata', 'is not', null) : query
  const rows = await candidates
    .select(['run_id', time, 'metadata'])
    .orderBy(time, 'desc')
    .orderBy('run_id', 'desc')
    .limit(MAX_SCANNED)
    .execute()
  const ids: string[] = []
  let last: (typeof rows)[number] | undefined
  for (const row of rows) {
    if (ids.length === limit) break
    if (hasMetadata(parseMetadata(row.metadata), filter)) ids.push(row.run_id)
    last = row
  }
  const isLastPage = last === rows.at(-1) && rows.length < MAX_SCANNED
  return {
    ids,
    nextCursor: last && !isLastPage ? formatRunCursor({ at: last[time], runId: last.run_id }) : null
  }
}

type Expressions = ExpressionBuilder<Tables, 'run'>
// Worded like the condition of a partial index, so that SQLite uses it.
const isNotCompleted = sql<boolean>`status <> 'completed'`

type ListedRow = Omit<Selectable<Tables['run']>, 'result' | 'ended_at' | 'file_bytes' | 'node_id'>

// All columns but the large ones.
const LISTED = [
  'run_id',
  'registry',
  'kind',
  'name',
  'session_id',
  'owner',
  'user_id',
  'start_key',
  'start_hash',
  'metadata',
  'created_at',
  'updated_at',
  'status',
  'epoch',
  'error',
  'bytes',
  'preview',
  'stats',
  'queued_at',
  'cancel_at',
  'left_turn'
] as const

/** A run without its large values. */
export async function findRun(db: Kysely<Tables>, runId: string): Promise<RunSummary | undefined> {
  const row = await db.selectFrom('run').select(LISTED).where('run_id', '=', runId).executeTakeFirst()
  return row && (await toSummaries(db, [row]))[0]
}

/** The run that an owner has begun with a start key, without its large values; undefined without a key. */
export async function findByStartKey(
  db: Kysely<Tables>,
  { owner, registry, startKey }: Pick<StoredRun, 'owner' | 'registry' | 'startKey'>
): Promise<RunSummary | undefined> {
  if (startKey === null) return undefined
  const row = await db
    .selectFrom('run')
    .select(LISTED)
    .where('owner', '=', owner)
    .where('registry', '=', registry)
    .where('start_key', '=', startKey.key)
    .executeTakeFirst()
  return row && (await toSummaries(db, [row]))[0]
}

/** A page of runs, newest first, with `since` last changed first. @throws REG_ERR_BAD_CURSOR */
export async function listRuns(
  db: Kysely<Tables>,
  { scope, owner, status, kind, name, metadata, since, limit, cursor }: RunQuery
): Promise<RunPage> {
  const time = since === undefined ? 'created_at' : 'updated_at'
  let query = db.selectFrom('run')
  if (scope !== undefined) query = query.where(isIn(scope))
  if (owner !== undefined) query = query.where('owner', '=', owner)
  if (status !== undefined) query = query.where('status', '=', status)
  if (status !== undefined && status !== 'completed' && owner === undefined)
    query = query.where(isNotCompleted)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (name !== undefined) query = query.where('name', '=', name)
  if (since !== undefined) query = query.where('updated_at', '>=', since)
  if (cursor !== undefined) query = query.where(isAfter(time, cursor))
  if (metadata === undefined) return readPage(db, query, time, limit)
  const { ids, nextCursor } = await scanMetadata(query, metadata, time, limit)
  return { runs: await readSummaries(db, ids, time), nextCursor }
}

/** A page of runs by their last change, with the total. @throws REG_ERR_BAD_CURSOR */
export async function listChangedRuns(
  db: Kysely<Tables>,
  { owner, scope, sessionId, status, errorCode, inputKind, since, limit, cursor }: ChangedRunQuery
): Promise<ChangedRunPage> {
  let all = db.selectFrom('run').where('owner', '=', owner).where(isIn(scope))
  if (sessionId !== undefined) all = all.where('session_id', '=', sessionId)
  if (status !== undefined) all = all.where('status', '=', status)
  if (errorCode !== undefined) all = all.where(isWanted(errorCode, hasErrorCode))
  if (inputKind !== undefined) all = all.where(isWanted(inputKind, waitsFor))
  if (since !== undefined) all = all.where('updated_at', '>=', since)
  const rest = cursor === undefined ? all : all.where(isAfter('updated_at', cursor))
  const page = await readPage(db, rest, 'updated_at', limit)
  const { total } = await all.select((run) => run.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { ...page, total }
}

function isWanted<T>(
  wanted: Wanted<T>,
  has: (run: Expressions, value: T) => Expression<SqlBool>
): (run: Expressions) => Expression<SqlBool> {
  return (run) => ('is' in wanted ? has(run, wanted.is) : run.not(has(run, wanted.isNot)))
}

// Within a JSON text every quotation mark is escaped, so that no message imitates a code.
function hasErrorCode(_run: Expressions, code: string): Expression<SqlBool> {
  const pattern = `%"code":${JSON.stringify(code).replaceAll(/[!%_]/g, '!$&')}%`
  return sql<SqlBool>`coalesce(error, '') like ${pattern} escape '!'`
}

function waitsFor(run: Expressions, kind: InputKind): Expression<SqlBool> {
  return run.exists(
    run
      .selectFrom('run_input')
      .select('run_input.input_id')
      .whereRef('run_input.run_id', '=', 'run.run_id')
      .where('run_input.answer', 'is', null)
      .where('run_input.kind', '=', kind)
  )
}

/** The ids of the runs of a person. */
export async function listOwnedRuns(
  db: Kysely<Tables>,
  { owner, session, unfinished, limit }: OwnedRunQuery
): Promise<string[]> {
  const select = (person: 'owner' | 'user_id') => {
    let query = db.selectFrom('run').select('run_id').where(person, '=', owner)
    if (person === 'owner') query = query.where('user_id', 'is', null)
    if (unfinished !== undefined) query = query.where('ended_at', unfinished ? 'is' : 'is not', null)
    if (session === undefined) return query
    const { registry, kind, name, sessionId } = session
    query = query.where('session_id', '=', sessionId).where('registry', '=', registry)
    return query.where('kind', '=', kind).where('name', '=', name)
  }
  const found: string[] = []
  for (const person of ['owner', 'user_id'] as const)
    if (found.length < limit) {
      const rows = await select(person)
        .limit(limit - found.length)
        .execute()
      found.push(...rows.map(({ run_id }) => run_id))
    }
  return found
}

/** A page of unfinished runs, oldest first: no other process has any of them. @throws REG_ERR_BAD_CURSOR */
export async function listLeftRuns(db: Kysely<Tables>, { limit, cursor }: LeftQuery): Promise<LeftPage> {
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  let query = db
    .selectFrom('run')
    .select(['run_id', 'registry', 'kind', 'name', 'owner', 'created_at', 'cancel_at'])
    .where('status', 'in', UNFINISHED)
    .where(isNotCompleted)
    .where('epoch', '>', 0)
  if (after !== undefined)
    query = query.where((run) =>
      run(run.refTuple('created_at', 'run_id'), '>', run.tuple(after.at, after.runId))
    )
  const rows = await query
    .orderBy('created_at')
    .orderBy('run_id')
    .limit(limit + 1)
    .execute()
  const { page, nextCursor } = pageOf(rows, limit, (row) => ({ at: row.created_at, runId: row.run_id }))
  return {
    runs: page.map(({ run_id: runId, created_at: _, cancel_at, ...run }) => ({
      runId,
      ...run,
      cancelRequested: cancel_at !== null
    })),
    nextCursor
  }
}

function isAfter(time: Time, cursor: string) {
  const { at, runId } = parseRunCursor(cursor)
  return (run: Expressions) => run(run.refTuple(time, 'run_id'), '<', run.tuple(at, runId))
}

// An index covers the ids; other columns would be read from the table for every candidate.
async function readPage(
  db: Kysely<Tables>,
  query: SelectQueryBuilder<Tables, 'run', object>,
  time: Time,
  limit: number
): Promise<RunPage> {
  const ids = query
    .select('run_id')
    .orderBy(time, 'desc')
    .orderBy('run_id', 'desc')
    .limit(limit + 1)
  const found = await readRows(db, ids, time)
  const { page, nextCursor } = pageOf(found, limit, (row) => ({ at: row[time], runId: row.run_id }))
  return { runs: await toSummaries(db, page), nextCursor }
}

async function readSummaries(db: Kysely<Tables>, ids: readonly string[], time: Time): Promise<RunSummary[]> {
  if (ids.length === 0) return []
  return toSummaries(db, await readRows(db, ids, time))
}

function readRows(
  db: Kysely<Tables>,
  ids: readonly string[] | SelectQueryBuilder<Tables, 'run', { run_id: string }>,
  time: Time
): Promise<ListedRow[]> {
  return db
    .selectFrom('run')
    .select(LISTED)
    .where('run_id', 'in', ids)
    .orderBy(time, 'desc')
    .orderBy('run_id', 'desc')
    .execute()
}

/** The summaries of runs in lists. */
async function toSummaries(db: Kysely<Tables>, rows: readonly ListedRow[]): Promise<RunSummary[]> {
  const positions = await readPositions(db, rows)
  const runs: RunSummary[] = []
  for (const row of rows) {
    const { run_id, status, preview, stats, bytes } = row
    runs.push({
      ...toRunHead(row),
      preview,
      stats: stats === null ? null : (parseStored<RunStats>(stats) ?? null),
      bytes,
      queuePosition: positions.get(run_id) ?? null,
      waiting: status === 'input-required' ? await readWaiting(db, run_id) : NOTHING_WAITING
    })
  }
  return runs
}
