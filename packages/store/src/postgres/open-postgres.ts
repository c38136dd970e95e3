import { codeOf, toLoggable, type RunLog } from '@svc/contract'
import { HandleEmptyInListsPlugin, Kysely, PostgresDialect, replaceWithNoncontingentExpression } from 'kysely'
import type { Backend } from '../backend.ts'
import { PATIENCE } from '../commit.ts'
import { probe } from '../maintenance/probe.ts'
import { STO_ERR_OPEN } from '../errors.ts'
import type { PostgresOptions } from '../options.ts'
import type { Tables } from '../tables.ts'
import { createBytesInTable } from './bytes-in-table.ts'
import { isLost, toStoreError } from './faults.ts'
import { openNode } from './open-node.ts'
import { openPool, type Connections } from './open-pool.ts'
import { PatientPool } from './patient-pool.ts'
import { PooledCommit } from './pooled-commit.ts'
import { createTransact } from './query.ts'
import { createRunDays } from './run-days.ts'
import { isCurrent, migrate } from './migrations/migrate.ts'
import { onOne } from './with-connection.ts'
import { removeLostTickets } from './nodes/ticket-batches.ts'

// Milliseconds for which a failed attempt answers for others.
const PAUSE = 250
// Milliseconds: another process may be migrating, and large tables take their time.
const MIGRATION_TIMEOUT = 600_000

/** Applies pending migrations once the server can be reached: at the first attempt that succeeds. */
class Opening {
  readonly #connections: Connections
  readonly #options: PostgresOptions
  #opened: Promise<void> | undefined

  constructor(connections: Connections, options: PostgresOptions) {
    this.#connections = connections
    this.#options = options
  }

  /** Resolves at once if the database is open; else tries to open it. @throws why it could not be opened */
  ready(): Promise<void> {
    return (this.#opened ??= this.#open())
  }

  async #open(): Promise<void> {
    try {
      if (!(await this.#isCurrent())) await this.#migrate()
    } catch (err) {
      setTimeout(() => (this.#opened = undefined), PAUSE).unref()
      throw err
    }
  }

  async #isCurrent(): Promise<boolean> {
    const client = await this.#connections.pool.connect()
    try {
      return await isCurrent(onOne(client), this.#options.schema)
    } finally {
      client.release()
    }
  }

  async #migrate(): Promise<void> {
    const client = this.#connections.createClient({ query_timeout: MIGRATION_TIMEOUT })
    await client.connect()
    try {
      await migrate(onOne(client), this.#options.schema)
    } finally {
      await client.end()
    }
  }
}

/**
 * Opens a database on Postgres. One that cannot be reached yet, after 5 seconds, is opened by the first call that can.
 * @throws STO_ERR_DRIVER_MISSING, and why a database that can be reached could not be opened
 */
export async function openPostgres(
  options: PostgresOptions,
  logger: Pick<RunLog, 'error'>
): Promise<Backend> {
  const connections = await openPool(options)
  const opening = new Opening(connections, options)
  const ready = () => opening.ready()
  const pool = new PatientPool(connections.pool, ready)
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })]
  }).withSchema(options.schema)
  const opened = openNode({
    options,
    connections,
    db,
    ready,
    logger
  })
  const { log, runs, checkpoints, sessionEntry, reports, control, dispatch, joined, close, ...node } = opened
  try {
    await pool.repeat(ready)
    await joined()
  } catch (err) {
    if (!isLost(err)) {
      await close()
      await pool.end()
      if (codeOf(err) !== undefined) throw err
      throw new STO_ERR_OPEN((err as Error).message, { cause: err })
    }
    logger.error(
      { code: codeOf(err), err: toLoggable(err) },
      'the database cannot be opened yet: calls are refused until it can'
    )
  }
  const commit = new PooledCommit(db, options.schema, options.outage, () => pool.failingFor)
  return {
    db,
    commit,
    bytes: createBytesInTable(db, commit),
    log,
    runs,
    checkpoints,
    sessionEntry,
    reports,
    control,
    dispatch,
    node,
    days: createRunDays(
      createTransact({ pool: connections.pool, ready, prepare: false }, PATIENCE),
      options.schema
    ),
    claimant: { id: joined, isShared: true },
    sweep: createSweeping(connections, options.schema),
    check: () => probe(commit),
    async close() {
      await commit.close()
      await close()
      await pool.end()
    }
  }
}

/**
 * Runs sweeps one after another, and each on one process of the service at a time: a transaction of its own holds the lock, which ends with its
 * connection. Also removes what processes that are gone have left: their writers, and their tickets of sessions.
 */
function createSweeping({ createClient }: Connections, schema: string): Backend['sweep'] {
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
