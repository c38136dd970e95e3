import type { Backend } from '../backend.ts'
import type { Connections } from './open-pool.ts'

/**
 * Runs sweeps one after another, and each on one process of the service at a time: a transaction of its own holds the lock, which ends with its
 * connection.
 */
export function createSweeping({ createClient }: Connections, schema: string): Backend['sweep'] {
  let last: Promise<unknown> = Promise.resolve()
  const sweep = async (name: string, remove: () => Promise<number>) => {
    const client = createClient()
    await client.connect()
    try {
      await client.query('begin')
      const { rows } = await client.query<{ locked: boolean }>(
        'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked',
        [`svc sweep ${schema} ${name}`]
      )
      return rows[0]!.locked ? await remove() : 0
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
