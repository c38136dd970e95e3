import { randomId } from '@svc/contract'
import { sql, type Transaction } from 'kysely'
import type { Backend } from '../backend.ts'
import type { Commit, Write } from '../commit.ts'
import type { Tables } from '../tables.ts'
import { removeLostTickets, type TableName } from './nodes/tickets.ts'
import type { Query } from './query.ts'

// Seconds after which the sweep of a process that has not renewed its claim is left to others.
const CLAIM = 60
// Milliseconds between two renewals.
const RENEW_EVERY = 15_000
// The token of a sweep that no process has.
const FREE = ''

/** Another process has taken the sweep over. */
class Taken extends Error {}

/** What sweeps need. */
export interface SweepHost {
  readonly query: Query
  readonly commit: Commit
  readonly table: TableName
}

/**
 * Runs sweeps one after another, and each on one process of the service at a time: a row of `writer` names its claim and when that was last
 * renewed. No transaction is open during a sweep but those that remove something, so that a process that stands still locks nothing. Each of
 * them renews the claim, and fails if the sweep was taken over meanwhile: two sweeps would both remove the surplus. Also removes what
 * processes that are gone have left: their writers, and their tickets of sessions.
 */
export function createSweeping({ query, commit, table }: SweepHost): Backend['sweep'] {
  const writer = table('writer')
  const takeText = `insert into ${writer} as w (writer_id, token, seen_at) values ($1, $2, clock_timestamp())
    on conflict (writer_id) do update set token = excluded.token, seen_at = excluded.seen_at
      where w.token in ('${FREE}', excluded.token) or w.seen_at < clock_timestamp() - interval '${CLAIM} seconds'
    returning writer_id`
  const renewText = `update ${writer} set seen_at = clock_timestamp() where writer_id = $1 and token = $2`
  const freeText = `update ${writer} set token = '${FREE}' where writer_id = $1 and token = $2`
  const forgetText = `delete from ${writer} where seen_at < clock_timestamp() - interval '1 day'`
  const ticketsText = removeLostTickets(table)

  const sweep = async (name: string, remove: (commit: Commit) => Promise<number>) => {
    const claim = [`sweep ${name}`, randomId()] as const
    if ((await query('svc take sweep', takeText, claim)).length === 0) return 0
    const renewal = setInterval(
      () => void query('svc renew sweep', renewText, claim).catch(() => {}),
      RENEW_EVERY
    )
    renewal.unref()
    try {
      const removed = await remove(claimed(commit, claim))
      await query('svc forget writers', forgetText, [])
      await query('svc lost tickets', ticketsText, [])
      return removed
    } catch (err) {
      if (err instanceof Taken) return 0
      throw err
    } finally {
      clearInterval(renewal)
      // Otherwise it expires.
      await query('svc free sweep', freeText, claim).catch(() => {})
    }
  }

  let last: Promise<unknown> = Promise.resolve()
  return (name, remove) => {
    const swept = last.then(() => sweep(name, remove))
    last = swept.catch(() => {})
    return swept
  }
}

/** Writes only as long as the claim is the latest one. */
function claimed(commit: Commit, claim: readonly [writerId: string, token: string]): Commit {
  const guard =
    <T>(write: Write<T>): Write<T> =>
    async (trx) => {
      await renew(trx, claim)
      return write(trx)
    }
  return {
    outage: commit.outage,
    isShared: commit.isShared,
    write: (write, patience) => commit.write(guard(write), patience),
    writeAmongOthers: (write) => commit.writeAmongOthers(guard(write)),
    close: () => commit.close()
  }
}

// By an insertion, since a serializable transaction that searches this small table would conflict with every other one. The row is there until
// a day after it was last renewed.
async function renew(trx: Transaction<Tables>, [writer_id, token]: readonly [string, string]): Promise<void> {
  const row = { writer_id, token, seen_at: sql<Date>`clock_timestamp()` }
  const renewed = await trx
    .insertInto('writer')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('writer_id').doUpdateSet({ seen_at: row.seen_at }).where('writer.token', '=', token)
    )
    .returning('writer_id')
    .executeTakeFirst()
  if (renewed === undefined) throw new Taken()
}
