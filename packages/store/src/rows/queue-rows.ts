import { isTerminalStatus } from '@svc/contract'
import { sql, type Kysely, type Selectable, type Transaction, type Updateable } from 'kysely'
import type { Tables } from '../tables.ts'

/** Worded like the conditions of partial indexes, so that SQLite uses them. */
export const waits = sql<boolean>`epoch = 0 and ended_at is null`

/** Leases a waiting run, with other changes of its row; undefined if it does not wait. */
export async function leaseWaiting(
  trx: Transaction<Tables>,
  runId: string,
  change: Updateable<Tables['run']>
): Promise<number | undefined> {
  const run = trx
    .updateTable('run')
    .set({ epoch: 1, ...change })
    .where('run_id', '=', runId)
    .where(waits)
  return (await run.returning('epoch').executeTakeFirst())?.epoch
}

/** True if a run waits. */
export async function isAnyWaiting(db: Kysely<Tables>): Promise<boolean> {
  return (await db.selectFrom('run').select('run_id').where(waits).limit(1).execute()).length > 0
}

type WaitingRow = Pick<Selectable<Tables['run']>, 'run_id' | 'owner' | 'epoch' | 'status' | 'queued_at'>

/**
 * The places of waiting runs among those of their owners, from 1, by their ids: for each a sum of spans, and a count of the runs in its own
 * one, or of those after the run before it.
 */
export async function readPositions(
  db: Kysely<Tables>,
  rows: readonly WaitingRow[]
): Promise<ReadonlyMap<string, number>> {
  const waiting = rows
    .filter(({ epoch, status }) => epoch === 0 && !isTerminalStatus(status))
    .map(({ run_id, owner, queued_at }) => ({ run_id, owner, at: queued_at! }))
    .toSorted((a, b) => compare(a.owner, b.owner) || a.at - b.at || compare(a.run_id, b.run_id))
  if (waiting.length === 0) return new Map()
  // After the run before, if it is of the same owner.
  const wanted = waiting.map((to, ord) => {
    const before = waiting[ord - 1]
    const from = before?.owner === to.owner ? before : { at: -1, run_id: '' }
    const texts = [to.owner, from.run_id, to.run_id].map((text) => sql`cast(${text} as text)`)
    const numbers = [ord, from.at, to.at].map((number) => sql`cast(${number} as bigint)`)
    return sql`(${sql.join([...texts, ...numbers])})`
  })
  const spans = db.selectFrom('queue_span as s').where(sql<boolean>`s.owner = w.owner`)
  const own = spans.select('s.from_at').where(sql<boolean>`s.from_at <= w.to_at`)
  const between = db
    .selectFrom('run as r')
    .select(({ fn }) => fn.countAll<number>().as('runs'))
    .where(sql<boolean>`r.owner = w.owner`)
    .where(waits)
    .where(sql<boolean>`r.queued_at >= w.span_at`)
    .where(sql<boolean>`(r.queued_at, r.run_id) > (w.from_at, w.from_id)`)
    .where(sql<boolean>`(r.queued_at, r.run_id) <= (w.to_at, w.to_id)`)
  const before = spans
    .select(({ fn }) => fn.sum<number>('s.waiting').as('runs'))
    .where(sql<boolean>`s.from_at < w.span_at`)
  const { rows: counts } = await sql<{ ord: number; before: number | null; runs: number }>`
    with wanted(owner, from_id, to_id, ord, from_at, to_at) as (values ${sql.join(wanted)}),
    w as (select w.*, coalesce((${own.orderBy('s.from_at', 'desc').limit(1)}), 0) as span_at from wanted w)
    select ord, case when span_at > from_at then coalesce((${before}), 0) end as before, (${between}) as runs from w order by ord`.execute(
    db
  )
  const positions = new Map<string, number>()
  let position = 0
  for (const { ord, before: first, runs } of counts) {
    const { run_id } = waiting[ord]!
    position = (first ?? position) + runs
    // Those that have begun meanwhile have none.
    if (runs > 0) positions.set(run_id, position)
  }
  return positions
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
