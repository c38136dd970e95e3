import {
  isTerminalStatus,
  type NextQuery,
  type NextRun,
  type RunnableKind,
  type RunStatus
} from '@svc/contract'
import { sql, type Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

interface NextRow {
  run_id: string
  registry: string
  kind: RunnableKind
  name: string
  owner: string
}

// Worded like the conditions of partial indexes, so that SQLite uses them.
const waits = sql<boolean>`epoch = 0 and ended_at is null`
const isFromQueue = sql<boolean>`queued_at is not null and epoch > 0 and ended_at is null`

/**
 * Finds the waiting run whose turn it is. Reads one run per owner and runnable, and the runs from the queue that are in progress; never all
 * that wait.
 */
export async function findNext(
  db: Kysely<Tables>,
  { runnables, perOwner, unlimited }: NextQuery
): Promise<Omit<NextRun, 'epoch'> | undefined> {
  if (runnables.length === 0) return undefined
  const keys = runnables.map(
    ({ registry, kind, name }) =>
      sql`(cast(${registry} as text), cast(${kind} as text), cast(${name} as text))`
  )
  // A raw table would lack its schema.
  const waitingRuns = (from: 'known' | 'waiting') =>
    db
      .selectFrom('run as r')
      .whereRef('r.registry', '=', sql.ref<string>(`${from}.registry`))
      .whereRef('r.kind', '=', sql.ref<RunnableKind>(`${from}.kind`))
      .whereRef('r.name', '=', sql.ref<string>(`${from}.name`))
      .where(waits)
  const firstOwner = (from: 'known' | 'waiting') =>
    waitingRuns(from).select((run) => run.fn.min('r.owner').as('owner'))
  const ownerAfter = firstOwner('waiting').where('r.owner', '>', sql.ref<string>('waiting.owner'))
  const firstRun = waitingRuns('waiting')
    .select('r.run_id')
    .where('r.owner', '=', sql.ref<string>('waiting.owner'))
    .orderBy('r.queued_at')
    .orderBy('r.run_id')
    .limit(1)
  const countBusy = db
    .selectFrom('run as r')
    .select((run) => run.fn.countAll().as('runs'))
    .where('r.owner', '=', sql.ref<string>('each.owner'))
    .where(isFromQueue)
  const runs = db.selectFrom('run').select(['run_id', 'registry', 'kind', 'name', 'owner', 'queued_at'])
  const { rows } = await sql<NextRow>`
    with recursive known(registry, kind, name) as (values ${sql.join(keys)}),
    waiting(registry, kind, name, owner) as (
      select registry, kind, name, ${firstOwner('known')} from known
      union all
      select registry, kind, name, ${ownerAfter} from waiting where owner is not null
    ),
    first(owner, run_id) as (select owner, ${firstRun} from waiting where owner is not null),
    busy(owner, runs) as (select owner, ${countBusy} from (select distinct owner from first) each)
    select r.run_id, r.registry, r.kind, r.name, r.owner
    from first join busy on busy.owner = first.owner join ${runs} r on r.run_id = first.run_id
    where busy.runs < ${perOwner} or busy.owner = ${unlimited}
    order by busy.runs, r.queued_at, r.run_id limit 1`.execute(db)
  const [row] = rows
  return (
    row && { runId: row.run_id, registry: row.registry, kind: row.kind, name: row.name, owner: row.owner }
  )
}

/** True if a run waits. */
export async function isAnyWaiting(db: Kysely<Tables>): Promise<boolean> {
  return (await db.selectFrom('run').select('run_id').where(waits).limit(1).execute()).length > 0
}

/** The places of waiting runs among those of their owners, from 1, by their ids. */
export async function readPositions(
  db: Kysely<Tables>,
  rows: readonly { run_id: string; owner: string; epoch: number; status: RunStatus }[]
): Promise<ReadonlyMap<string, number>> {
  const waiting = rows.filter(({ epoch, status }) => epoch === 0 && !isTerminalStatus(status))
  if (waiting.length === 0) return new Map()
  const owners = [...new Set(waiting.map(({ owner }) => owner))]
  const ids = waiting.map(({ run_id }) => run_id)
  const found = await db
    .selectFrom((from) =>
      from
        .selectFrom('run')
        .select('run_id')
        .select(sql<number>`row_number() over (partition by owner order by queued_at, run_id)`.as('position'))
        .where('owner', 'in', owners)
        .where(waits)
        .as('places')
    )
    .select(['run_id', 'position'])
    .where('run_id', 'in', ids)
    .execute()
  return new Map(found.map(({ run_id, position }) => [run_id, position]))
}
