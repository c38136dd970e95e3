import type { Backend } from '../backend.ts'
import { toStoreError } from './faults.ts'
import { removeLostTickets } from './nodes/ticket-batches.ts'
import type { Connections } from './open-pool.ts'

/**
 * Runs sweeps one after another, and each on one process of the service at a time: a transaction of its own holds the lock, which ends with its
 * connection. Also removes what processes that are gone have left: their writers, and their tickets of sessions.
 */
export function createSweeping({ createClient }: Connections, schema: string): Backend['sweep'] {
  let last: Promise<unknown> = Promise.resolve()
  const removeTickets = removeLostTickets((table) => `"${schema}".${table}`)
  const sweep = async (name: string, remove: () => Promise<number>) => {
    const client = createClient()
    try {
      await client.connect()
      await client.query('begin')
      const { rows } = await client.query<{ locked: boolean }>(
        'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked',
        [`svc sweep ${schema} ${name}`]
      )
      if (!rows[0]!.locked) return 0
      const removed = await remove()
      await client.query(
        `delete from "${schema}".writer where seen_at < clock_timestamp() - interval '1 day'`
      )
      await client.query(removeTickets)
      await client.query('commit')
      return removed
    } catch (err) {
      throw toStoreError(err)
    } finally {
      await client.end()
    }
  }
  return (name, remove) => {
    const swept = last.then(() => sweep(name, remove))
    last = swept.catch(() => {})
    return swept
  }
}
