import {
  hasMetadata,
  isTerminalStatus,
  type ChangedRunPage,
  type ChangedRunQuery,
  type InputKind,
  type LeftPage,
  type LeftQuery,
  type OwnedRunQuery,
  type RunPage,
  type RunQuery,
  type RunStats,
  type RunStatus,
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
import type { RunSources, Tables } from '../tables.ts'
import { NOTHING_WAITING, readWaiting } from './input-lists.ts'
import { digestPair, textOfPair } from './metadata-pairs.ts'
import { readPositions } from './queue-rows.ts'
import { isKnownFormat, TERMINAL, toRunHead, UNFINISHED } from './run-rows.ts'
import { isIn } from './session-rows.ts'

/** The column by which a list is in order. */
export type Time = 'created_at' | 'updated_at'
type Order = NonNullable<RunQuery['order']>

type Source = RunSources[keyof Omit<RunSources, 'maxScanned'>]

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
  'format',
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

/** A page of runs by their creation, with `since` by their last change. @throws REG_ERR_BAD_CURSOR */
export async function listRuns(
  db: Kysely<Tables>,
  sources: RunSources,
  { scope, owner, status, kind, name, metadata, since, order, limit, cursor }: RunQuery
): Promise<RunPage> {
  const time = since === undefined ? 'created_at' : 'updated_at'
  const labeled = owner === undefined || metadata === undefined ? 'run' : sources.labeled
  const from = time === 'updated_at' ? sources.changed : sourceOf(sources, owner, status, labeled)
  let all = selectFrom(db, from)
  if (owner !== undefined) all = all.where('owner', '=', owner)
  if (from === 'run' && owner !== undefined && name !== undefined) all = all.where('name', '=', name)
  if (from === 'run' && metadata !== undefined && time === 'created_at')
    all = all.where('metadata', 'is not', null)
  if (labeled !== 'run') all = all.where(isLabeled(db, from, { owner: owner!, metadata: metadata! }))
  if (since !== undefined) all = all.where('updated_at', '>=', since)
  if (cursor !== undefined) all = all.where(isAfter(time, cursor, order))
  if (isOther(status) && (from === 'run_end' || owner === undefined)) all = all.where(isNotCompleted)
  const filter: Filter = (some) => {
    if (scope !== undefined) some = some.where(isIn(scope))
    if (status !== undefined) some = some.where((run) => run(columnOf(run, from, 'status'), '=', status))
    if (kind !== undefined) some = some.where('kind', '=', kind)
    if (name !== undefined) some = some.where('name', '=', name)
    return metadata === undefined || from === 'run_metadata'
      ? some
      : some.where((run) => hasJson(run, from, 'metadata', textOfPair(metadata)))
  }
  const columns = [
    ...(status === undefined || from === 'run_metadata' ? [] : (['status'] as const)),
    ...(metadata && from === 'run' ? (['metadata'] as const) : [])
  ]
  const page = await readPage(db, sources, { all, filter, columns, time, order }, limit)
  if (metadata === undefined) return page
  return { ...page, runs: page.runs.filter((run) => hasMetadata(run.metadata, metadata)) }
}

/** A page of runs by their last change, with the total. @throws REG_ERR_BAD_CURSOR */
export async function listChangedRuns(
  db: Kysely<Tables>,
  sources: RunSources,
  { owner, scope, sessionId, status, errorCode, inputKind, since, limit, cursor }: ChangedRunQuery
): Promise<ChangedRunPage> {
  const from = sources.changed
  let all = selectFrom(db, from).where('owner', '=', owner)
  if (sessionId !== undefined) all = all.where('session_id', '=', sessionId)
  if (since !== undefined) all = all.where('updated_at', '>=', since)
  const filter: Filter = (some) => {
    some = some.where(isIn(scope))
    if (status !== undefined) some = some.where('status', '=', status)
    if (errorCode !== undefined)
      some = some.where(
        isWanted(errorCode, (run, code) => hasJson(run, from, 'error', `"code":${JSON.stringify(code)}`))
      )
    return inputKind === undefined ? some : some.where(isWanted(inputKind, waitsFor))
  }
  const rest = cursor === undefined ? all : all.where(isAfter('updated_at', cursor))
  const columns = ['status', ...(errorCode && from === 'run' ? (['error'] as const) : [])] as const
  const page = await readPage(db, sources, { all: rest, filter, columns, time: 'updated_at' }, limit)
  const counted = scanned(db, sources, { all, filter, columns, time: 'updated_at' })
  const { total } = await counted
    .select((run) => run.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { ...page, total }
}

const isOther = (status: RunStatus | undefined) => status !== undefined && status !== 'completed'

// The tables of unfinished and failed runs have few, that of all has most of the completed ones.
function sourceOf(
  { open, ended }: RunSources,
  owner: string | undefined,
  status: RunStatus | undefined,
  labeled: Source
): Source {
  if (!isOther(status)) return labeled
  if (!isTerminalStatus(status)) return open
  return owner === undefined ? 'run' : ended
}

function selectFrom(db: Kysely<Tables>, from: Source) {
  return db.selectFrom(`${from} as run` as 'run')
}

/**
 * A condition on rows of metadata: they have this key and value; on those of other tables: any run of the owner has, which one look at the
 * index tells for all of them.
 */
function isLabeled(
  db: Kysely<Tables>,
  from: Source,
  { owner, metadata }: Required<Pick<RunQuery, 'owner' | 'metadata'>>
): Expression<SqlBool> {
  const digest = digestPair(metadata)
  if (from === 'run_metadata') return sql<SqlBool>`pair = ${digest}`
  const any = db.selectFrom('run_metadata as any').select('any.run_id').where('any.owner', '=', owner)
  return sql<SqlBool>`exists ${any.where('any.pair', '=', digest)}`
}

// The id of a listed run. A reference of Kysely's would name the table of that name.
const LISTED_ID = sql<string>`run.run_id`

// What some tables lack, the row of a run has.
function columnOf(run: Expressions, from: Source, column: 'metadata' | 'error' | 'status') {
  if (from === 'run' || (column === 'status' && from !== 'run_metadata'))
    return sql.ref<string | null>(column)
  return run.selectFrom('run as whole').select(`whole.${column}`).where('whole.run_id', '=', LISTED_ID)
}

// Within a JSON text every quotation mark is escaped, so that no other text imitates this one.
function hasJson(
  run: Expressions,
  from: Source,
  column: 'metadata' | 'error',
  json: string
): Expression<SqlBool> {
  const pattern = `%${json.replaceAll(/[!%_]/g, '!$&')}%`
  return sql<SqlBool>`coalesce(${columnOf(run, from, column)}, '') like ${pattern} escape '!'`
}

function isWanted<T>(
  wanted: Wanted<T>,
  has: (run: Expressions, value: T) => Expression<SqlBool>
): (run: Expressions) => Expression<SqlBool> {
  return (run) => ('is' in wanted ? has(run, wanted.is) : run.not(has(run, wanted.isNot)))
}

function waitsFor(run: Expressions, kind: InputKind): Expression<SqlBool> {
  return run.exists(
    run
      .selectFrom('run_input')
      .select('run_input.input_id')
      .where('run_input.run_id', '=', LISTED_ID)
      .where('run_input.answer', 'is', null)
      .where('run_input.kind', '=', kind)
  )
}

/** The ids of the runs of a person. */
export async function listOwnedRuns(
  db: Kysely<Tables>,
  sources: RunSources,
  { owner, session, unfinished, limit }: OwnedRunQuery
): Promise<string[]> {
  const from = unfinished === true ? sources.open : session === undefined ? 'run' : sources.changed
  const select = (person: 'owner' | 'user_id') => {
    let query = selectFrom(db, from).select('run_id').where(person, '=', owner)
    if (person === 'owner') query = query.where('user_id', 'is', null)
    if (unfinished !== undefined) query = query.where('status', unfinished ? 'not in' : 'in', TERMINAL)
    if (session === undefined) return query
    const { registry, kind, name, sessionId } = session
    query = query.where('session_id', '=', sessionId).where('registry', '=', registry)
    return query.where('kind', '=', kind).where('name', '=', name)
  }
  const found: string[] = []
  for (const person of ['owner', 'user_id'] as const)
    if (found.length < limit) {
      // In the order of an index: to read the table instead may mean to read much that is removed.
      const rows = await select(person)
        .orderBy(person === 'owner' ? 'created_at' : 'run_id')
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
    .where(isKnownFormat)
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

function isAfter(time: Time, cursor: string, order: Order = 'desc') {
  const { at, runId } = parseRunCursor(cursor)
  const is = order === 'asc' ? '>' : '<'
  return (run: Expressions) => run(run.refTuple(time, 'run_id'), is, run.tuple(at, runId))
}

type Runs = SelectQueryBuilder<Tables, 'run', object>
type Filter = (runs: Runs) => Runs

/** What a list selects. */
interface Listed {
  /** What an index finds. */
  readonly all: Runs
  /** Leaves those of it that are wanted. */
  readonly filter: Filter
  /** What that needs, beside what every list has. */
  readonly columns: readonly ('status' | 'metadata' | 'error')[]
  readonly time: Time
  readonly order?: Order | undefined
}

// Filters only so many runs, so that no page reads a whole index for a few.
function scanned(
  db: Kysely<Tables>,
  { maxScanned }: RunSources,
  { all, filter, columns, time, order }: Listed
): Runs {
  if (maxScanned === Infinity) return filter(all)
  const some = inOrder(all, time, order)
    .select(['run_id', time, 'registry', 'kind', 'name', ...columns])
    .limit(maxScanned)
  return filter(db.selectFrom(some.as('run')) as Runs)
}

function inOrder(runs: Runs, time: Time, order: Order = 'desc'): Runs {
  return runs.orderBy(time, order).orderBy('run_id', order)
}

// An index covers the ids; other columns would be read from the table for every candidate.
async function readPage(
  db: Kysely<Tables>,
  sources: RunSources,
  listed: Listed,
  limit: number
): Promise<RunPage> {
  const { all, time, order = 'desc' } = listed
  const ids = inOrder(scanned(db, sources, listed), time, order)
    .select('run_id')
    .limit(limit + 1)
  const found = await readRows(db, ids, time, order)
  const { page, nextCursor } = pageOf(found, limit, (row) => ({ at: row[time], runId: row.run_id }))
  const runs = await toSummaries(db, page)
  if (nextCursor !== null || sources.maxScanned === Infinity) return { runs, nextCursor }
  const [end] = await inOrder(all, time, order)
    .select(['run_id', time])
    .offset(sources.maxScanned - 1)
    .limit(1)
    .execute()
  if (end === undefined) return { runs, nextCursor }
  // New runs may have moved the end towards the beginning of the page.
  const last = page.at(-1)
  const isOlder =
    last !== undefined && (last[time] < end[time] || (last[time] === end[time] && last.run_id < end.run_id))
  const { [time]: at, run_id: runId } = isOlder && order === 'desc' ? last : end
  return { runs, nextCursor: formatRunCursor({ at, runId }) }
}

function readRows(
  db: Kysely<Tables>,
  ids: SelectQueryBuilder<Tables, 'run', { run_id: string }>,
  time: Time,
  order: Order
): Promise<ListedRow[]> {
  const listed = LISTED.map((column) => `run.${column}` as const)
  return db
    .selectFrom('run')
    .innerJoin(ids.as('page'), 'page.run_id', 'run.run_id')
    .select(listed)
    .orderBy(`run.${time}`, order)
    .orderBy('run.run_id', order)
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
