import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { postgresForTests } from '@tools/postgres'
import { createStore, type Store, type StoreOptions } from '@svc/store'
import { Pool } from 'pg'
import type { Test } from 'tap'

/** Opens a store of one kind of database, for a test that closes it. */
export type OpenStore = (options?: StoreOptions) => Promise<Store>

/** A store on Postgres, with a connection past it to its schema. */
export interface StoreOnPostgres extends Store {
  readonly url: string
  readonly schema: string
  query<R>(sql: string, values?: unknown[]): Promise<R[]>
}

/** Opens a store on Postgres, for a test that closes it. */
export type OpenPostgres = (options?: StoreOptions) => Promise<StoreOnPostgres>

/** A name for a schema that no other test has. */
export const randomSchema = () => `t_${randomBytes(6).toString('hex')}`

const TABLES = `
  select relname as name from pg_class
   where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition and relname !~ '^svc_'`

/** Runs tests of stores on SQLite and on Postgres, each store on a database of its own. */
export async function eachStore(t: Test, run: (t: Test, open: OpenStore) => Promise<void>): Promise<void> {
  let files = 0
  const folder = t.testdir()
  await t.test('SQLite', (t) =>
    run(t, (options) => createStore({ url: `sqlite:${join(folder, `${++files}.db`)}`, ...options }))
  )
  await onPostgres(t, run)
}

/** Runs tests of stores on Postgres; skipped if it does not run on this machine. */
export async function onPostgres(
  t: Test,
  run: (t: Test, open: OpenPostgres, url: string) => Promise<void>
): Promise<void> {
  const url = await postgresForTests(t)
  await t.test('Postgres', { skip: url === undefined && 'no Postgres runs on this machine' }, async (t) => {
    const pool = new Pool({ connectionString: url!, max: 1 })
    pool.on('error', () => {})
    t.teardown(() => pool.end())
    await run(t, openIn(url!, pool), url!)
  })
}

// Emptied schemas are used again, since a new one takes much longer.
function openIn(url: string, pool: Pool): OpenPostgres {
  const empty: string[] = []
  return async (options) => {
    const schema = empty.pop() ?? randomSchema()
    const store = await createStore({ url, schema, ...options })
    const query = async <R>(sql: string, values?: unknown[]): Promise<R[]> => {
      const client = await pool.connect()
      try {
        await client.query(`set search_path = ${schema}`)
        return (await client.query(sql, values)).rows as R[]
      } finally {
        client.release()
      }
    }
    const close = async () => {
      await store.close()
      const tables = await query<{ name: string }>(TABLES, [schema])
      // Faster than `truncate` for a few rows; without its keys the order of tables does not matter.
      const deletions = tables.map(({ name }) => `delete from ${name}`)
      await query(['begin', 'set local session_replication_role = replica', ...deletions, 'commit'].join(';'))
      empty.push(schema)
    }
    let closed: Promise<void> | undefined
    return { ...store, url, schema, query, close: () => (closed ??= close()) }
  }
}
