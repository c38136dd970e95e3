import type { NextQuery, NextRun, RunnableKey } from '@svc/contract'
import { QueueWorkers } from '@svc/contract/stores'
import { sql, type Kysely } from 'kysely'
import type { Dispatch } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { leaseWaiting, waits } from '../rows/queue-rows.ts'
import type { LocalLogs } from '../runs/local-logs.ts'
import type { Tables } from '../tables.ts'

/** The queue of the only process that has the database open. */
export function createLocalDispatch(commit: Commit, logs: LocalLogs): Dispatch {
  const workers = new QueueWorkers()
  return {
    async next(query) {
      const next = await commit.write(async (trx): Promise<NextRun | undefined> => {
        const found = await findNext(trx, query)
        if (found === undefined) return undefined
        const change = { status: 'working', updated_at: Date.now() } as const
        const epoch = await leaseWaiting(trx, found.runId, change)
        return epoch === undefined ? undefined : { ...found, epoch }
      })
      if (next !== undefined) logs.own(next.runId, false)
      return next
    },
    left(runId) {
      logs.disown(runId)
      workers.look(1)
    },
    taken: (runId) => logs.own(runId, false),
    planned() {},
    serve: (concurrency, take) => workers.serve(concurrency, take),
    look: () => workers.look()
  }
}

interface NextRow extends RunnableKey {
  run_id: string
  owner: string
}

const isSame = (a: string, b: string) =>
  sql.raw(`${a}.registry = ${b}.registry and ${a}.kind = ${b}.kind and ${a}.name = ${b}.name`)

/** Finds the waiting run whose turn it is: the first of the first line, which an index has for each runnable. */
export async function findNext(
  db: Kysely<Tables>,
  { runnables, perOwner, unlimited }: NextQuery
): Promise<Omit<NextRun, 'epoch'> | undefined> {
  if (runnables.length === 0) return undefined
  const keys = runnables.map(({ registry, kind, name }) => sql`(${registry}, ${kind}, ${name})`)
  const { rows } = await sql<NextRow>`
    with known(registry, kind, name) as (values ${sql.join(keys)}),
    best(registry, kind, name, owner) as (
      select registry, kind, name, (select owner from queue_line l
        where ${isSame('l', 'known')} and l.busy < ${perOwner} order by l.busy, l.head_at limit 1) from known
      union all
      select registry, kind, name, ${unlimited} from known
    )
    select l.registry, l.kind, l.name, l.owner, (select r.run_id from run r
      where ${isSame('r', 'l')} and r.owner = l.owner and ${waits} order by r.queued_at, r.run_id limit 1) as run_id
    from best cross join queue_line l where l.owner = best.owner and ${isSame('l', 'best')}
    order by l.busy, l.head_at limit 1`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { run_id: runId, ...line } = row
  return { runId, ...line }
}
