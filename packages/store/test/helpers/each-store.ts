import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { RunLog } from '@svc/registry'
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

/** A database of one kind, on which a test opens stores one after another. */
export interface TestDatabase {
  open(options?: StoreOptions, log?: Pick<RunLog, 'error'>): Promise<Store>
  /** Executes SQL past the store. */
  execute(sql: string): Promise<void>
  /** Bytes in SQL, of hexadecimal digits. */
  bytes(hex: string): string
}

/** Runs tests of stores on SQLite and on Postgres, each on a database of its own. */
export async function eachDatabase(
  t: Test,
  run: (t: Test, make: (t: Test) => TestDatabase) => Promise<void>
): Promise<void> {
  await t.test('SQLite', (t) => run(t, inFile))
  await withPostgres(t, (t, schemas) => run(t, (t) => inSchema(t, schemas)))
}

function inFile(t: Test): TestDatabase {
  const file = join(t.testdir(), 'app.db')
  return {
    open: (options, log) => createStore({ url: `sqlite:${file}`, ...options }, log),
    async execute(sql) {
      const database = new DatabaseSync(file)
      database.exec(sql)
      database.close()
    },
    bytes: (hex) => `x'${hex}'`
  }
}

function inSchema(t: Test, schemas: Schemas): TestDatabase {
  const schema = schemas.take()
  t.teardown(() => schemas.empty(schema))
  return {
    open: (options, log) => createStore({ url: schemas.url, schema, ...options }, log),
    async execute(sql) {
      await schemas.query(schema, sql)
    },
    bytes: (hex) => `'\\x${hex}'::bytea`
  }
}

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
  await withPostgres(t, (t, schemas) => run(t, openIn(schemas), schemas.url))
}

function openIn(schemas: Schemas): OpenPostgres {
  return async (options) => {
    const schema = schemas.take()
    const store = await createStore({ url: schemas.url, schema, ...options })
    const close = async () => {
      await store.close()
      await schemas.empty(schema)
    }
    let closed: Promise<void> | undefined
    return {
      ...store,
      url: schemas.url,
      schema,
      query: (sql, values) => schemas.query(schema, sql, values),
      close: () => (closed ??= close())
    }
  }
}

async function withPostgres(t: Test, run: (t: Test, schemas: Schemas) => Promise<void>): Promise<void> {
  const url = await postgresForTests(t)
  await t.test('Postgres', { skip: url === undefined && 'no Postgres runs on this machine' }, async (t) => {
    const schemas = new Schemas(url!)
    t.teardown(() => schemas.close())
    await run(t, schemas)
  })
}

/** Schemas for stores of tests. Emptied ones are used again, since a new one takes much longer. */
class Schemas {
  readonly url: string
  readonly #pool: Pool
  readonly #made: string[] = []
  readonly #empty: string[] = []

  constructor(url: string) {
    this.url = url
    this.#pool = new Pool({ connectionString: url, max: 1 })
    this.#pool.on('error', () => {})
  }

  take(): string {
    const empty = this.#empty.pop()
    if (empty !== undefined) return empty
    const schema = randomSchema()
    this.#made.push(schema)
    return schema
  }

  async query<R>(schema: string, sql: string, values?: unknown[]): Promise<R[]> {
    const client = await this.#pool.connect()
    try {
      await client.query(`set search_path = ${schema}`)
      return (await client.query(sql, values)).rows as R[]
    } finally {
      client.release()
    }
  }

  async empty(schema: string): Promise<void> {
    const tables = await this.query<{ name: string }>(schema, TABLES, [schema])
    // Faster than `truncate` for a few rows; without its keys the order of tables does not matter.
    const deletions = tables.map(({ name }) => `delete from ${name}`)
    const all = ['begin', 'set local session_replication_role = replica', ...deletions, 'commit']
    await this.query(schema, all.join(';'))
    this.#empty.push(schema)
  }

  async close(): Promise<void> {
    // A server of the tests' own goes as a whole.
    if (process.env['TEST_PG_URL'] !== undefined)
      for (const schema of this.#made) await this.#pool.query(`drop schema if exists ${schema} cascade`)
    await this.#pool.end()
  }
}
