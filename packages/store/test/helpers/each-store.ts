import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { postgresForTests } from '@tools/postgres'
import { createStore, type Store, type StoreOptions } from '@svc/store'
import { Client } from 'pg'
import type { Test } from 'tap'

/** Opens a store of one kind of database, for a test that closes it. */
export type OpenStore = (options?: StoreOptions) => Promise<Store>

/** A name for a schema that no other test has. */
export const randomSchema = () => `t_${randomBytes(6).toString('hex')}`

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
  run: (t: Test, open: OpenStore, url: string) => Promise<void>
): Promise<void> {
  const url = await postgresForTests(t)
  await t.test('Postgres', { skip: url === undefined && 'no Postgres runs on this machine' }, (t) =>
    run(t, openIn(url!), url!)
  )
}

// Emptied schemas are used again, since a new one takes much longer.
function openIn(url: string): OpenStore {
  const empty: string[] = []
  return async (options) => {
    const schema = empty.pop() ?? randomSchema()
    const store = await createStore({ url, schema, ...options })
    const close = async () => {
      await store.close()
      await emptySchema(url, schema)
      empty.push(schema)
    }
    let closed: Promise<void> | undefined
    return { ...store, close: () => (closed ??= close()) }
  }
}

async function emptySchema(url: string, schema: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = $1 and tablename !~ '^svc_'`,
    [schema]
  )
  const tables = rows.map(({ name }) => `"${schema}".${name}`)
  // Faster than `truncate` for a few rows; without its keys the order of tables does not matter.
  const deletions = tables.map((table) => `delete from ${table}`)
  await client.query(
    ['begin', 'set local session_replication_role = replica', ...deletions, 'commit'].join(';')
  )
  await client.end()
}
