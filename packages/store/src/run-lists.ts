import {
  formatRunCursor,
  parseRunCursor,
  RUNNABLE_KINDS,
  type ChangedRunPage,
  type ChangedRunQuery,
  type RunPage,
  type RunQuery,
  type UnfinishedPage,
  type UnfinishedQuery
} from '@svc/registry'
import type { ExpressionBuilder, Kysely, Selectable } from 'kysely'
import { toRuns, UNFINISHED } from './run-rows.ts'
import type { Tables } from './tables.ts'

type Time = 'created_at' | 'updated_at'

/** A page of runs, newest first. @throws REG_ERR_BAD_CURSOR */
export async function listRuns(
  db: Kysely<Tables>,
  { owner, status, kind, name, limit, cursor }: RunQuery
): Promise<RunPage> {
  let query = db.selectFrom('run').selectAll()
  if (owner !== undefined) query = query.where('owner', '=', owner)
  if (status !== undefined) query = query.where('status', '=', status)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (name !== undefined) query = query.where('name', '=', name)
  if (cursor !== undefined) query = query.where(isAfter('created_at', cursor))
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('run_id', 'desc')
    .limit(limit + 1)
    .execute()
  return toPage(db, rows, 'created_at', limit)
}

/** The same by the last change, with the count of all. @throws REG_ERR_BAD_CURSOR */
export async function listChangedRuns(
  db: Kysely<Tables>,
  { owner, runnables, sessionId, status, since, limit, cursor }: ChangedRunQuery
): Promise<ChangedRunPage> {
  let all = db
    .selectFrom('run')
    .where('owner', '=', owner)
    .where((run) =>
      run.or(
        RUNNABLE_KINDS.flatMap((kind) => {
          const names = runnables.filter((each) => each.kind === kind).map(({ name }) => name)
          return names.length === 0 ? [] : run.and([run('kind', '=', kind), run('name', 'in', names)])
        })
      )
    )
  if (sessionId !== undefined) all = all.where('session_id', '=', sessionId)
  if (status !== undefined) all = all.where('status', '=', status)
  if (since !== undefined) all = all.where('updated_at', '>=', since)
  const rest = cursor === undefined ? all : all.where(isAfter('updated_at', cursor))
  // The ids alone are all in an index: the others would be looked at in the table.
  const ids = rest
    .select('run_id')
    .orderBy('updated_at', 'desc')
    .orderBy('run_id', 'desc')
    .limit(limit + 1)
  const rows = await db
    .selectFrom('run')
    .selectAll()
    .where('run_id', 'in', ids)
    .orderBy('updated_at', 'desc')
    .orderBy('run_id', 'desc')
    .execute()
  const { total } = await all.select((run) => run.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { ...(await toPage(db, rows, 'updated_at', limit)), total }
}

/** A page of runs under way, oldest first. @throws REG_ERR_BAD_CURSOR */
export async function listUnfinishedRuns(
  db: Kysely<Tables>,
  { limit, cursor }: UnfinishedQuery
): Promise<UnfinishedPage> {
  const after = cursor === undefined ? undefined : parseRunCursor(cursor)
  let query = db
    .selectFrom('run')
    .select(['run_id', 'kind', 'name', 'owner', 'created_at'])
    .where('status', 'in', UNFINISHED)
  if (after !== undefined)
    query = query.where((run) =>
      run(run.refTuple('created_at', 'run_id'), '>', run.tuple(after.at, after.runId))
    )
  const rows = await query
    .orderBy('created_at')
    .orderBy('run_id')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    runs: page.map(({ run_id: runId, kind, name, owner }) => ({ runId, kind, name, owner })),
    nextCursor:
      last && rows.length > limit ? formatRunCursor({ at: last.created_at, runId: last.run_id }) : null
  }
}

function isAfter(time: Time, cursor: string) {
  const { at, runId } = parseRunCursor(cursor)
  return (run: ExpressionBuilder<Tables, 'run'>) =>
    run(run.refTuple(time, 'run_id'), '<', run.tuple(at, runId))
}

async function toPage(
  db: Kysely<Tables>,
  rows: readonly Selectable<Tables['run']>[],
  time: Time,
  limit: number
): Promise<RunPage> {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    runs: await toRuns(db, page),
    nextCursor: last && rows.length > limit ? formatRunCursor({ at: last[time], runId: last.run_id }) : null
  }
}
