import { Kysely, PostgresDialect } from 'kysely'
import type { Client, PoolClient } from 'pg'
import type { PostgresOptions } from '../options.ts'
import { toStoreError } from './faults.ts'
import { openPool } from './open-pool.ts'

/** Kysely on one connection, without a pool. */
export function onOne(client: Client | PoolClient): Kysely<unknown> {
  const query: PoolClient['query'] = client.query.bind(client)
  const pool = { options: {}, connect: async () => ({ query, release: () => {} }), end: async () => {} }
  return new Kysely({ dialect: new PostgresDialect({ pool }) })
}

/** Runs work that may take long on a connection of its own. @throws STO_ERR_DRIVER_MISSING, the store's error for that of the database */
export async function withConnection<T>(
  options: PostgresOptions,
  work: (db: Kysely<unknown>) => Promise<T>
): Promise<T> {
  const { createClient } = await openPool(options)
  const client = createClient({ query_timeout: 0 })
  try {
    await client.connect()
    return await work(onOne(client))
  } catch (err) {
    throw toStoreError(err)
  } finally {
    await client.end()
  }
}
