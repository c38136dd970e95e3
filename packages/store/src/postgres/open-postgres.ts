import { setTimeout as pause } from 'node:timers/promises'
import { codeOf, randomId, toLoggable, type RunLog } from '@svc/contract'
import {
  HandleEmptyInListsPlugin,
  Kysely,
  PostgresDialect,
  replaceWithNoncontingentExpression,
  sql,
  type IsolationLevel,
  type Transaction
} from 'kysely'
import type { Backend } from '../backend.ts'
import { PATIENCE, Refused, type Commit, type Write } from '../commit.ts'
import { STO_ERR_CLOSED, STO_ERR_OPEN } from '../errors.ts'
import { probe } from '../maintenance/probe.ts'
import type { PostgresOptions } from '../options.ts'
import type { Tables } from '../tables.ts'
import { createItemCodes } from './item-codes.ts'
import { createBytesInTable } from './bytes-in-table.ts'
import { isCurrent, migrate } from './migrations/migrate.ts'
import { openNode } from './open-node.ts'
import { onOne, openPool, PatientPool, type Connections } from './open-pool.ts'
import { createQuery, createTransact, isAway, isConflict, isLost, isPassing, toStoreError } from './query.ts'
import { createRunDays } from './run-days.ts'
import { createRunTotals } from './run-totals.ts'
import { createSweeping } from './sweeping.ts'

/**
 * Shows which transactions were committed although the answer to their commit was lost: each records a token in the row of a writer, which has
 * one transaction at a time. (Transaction ids cannot show it: a server that crashed gives them again.)
 */
class Writers {
  // Rows without a transaction.
  readonly #free: string[] = []

  /** Begins the attempts to commit one write. */
  begin<T>(): Attempts<T> {
    return new Attempts(this.#free)
  }
}

/** The attempts to commit one write; at most one of them succeeds. */
class Attempts<T> {
  readonly #free: string[]
  #writerId: string | undefined
  /** The results of attempts that may have been committed, by their tokens. */
  readonly #unknown = new Map<string, T>()
  #last: { readonly token: string; readonly value: T } | undefined

  constructor(free: string[]) {
    this.#free = free
  }

  /** Runs a write in a transaction, unless an earlier attempt was committed: then returns its result. */
  async run(trx: Transaction<Tables>, write: () => Promise<T>): Promise<T> {
    this.#last = undefined
    this.#writerId ??= this.#free.pop() ?? randomId()
    const known = this.#unknown.size === 0 ? undefined : await findToken(trx, this.#writerId)
    if (known !== undefined && this.#unknown.has(known)) return this.#unknown.get(known)!
    const token = randomId()
    // First: it waits for an attempt that the server has not ended yet, and fails if that is committed.
    await record(trx, this.#writerId, token)
    const value = await write()
    this.#last = { token, value }
    return value
  }

  /** The connection was lost: if only the commit was left, its outcome is unknown. */
  lost(): void {
    if (this.#last !== undefined) this.#unknown.set(this.#last.token, this.#last.value)
    // The server may keep the row of an unfinished attempt locked for a while.
    if (this.#unknown.size === 0) this.#writerId = undefined
  }

  /** No attempt follows. */
  ended(): void {
    if (this.#writerId !== undefined && this.#unknown.size === 0) this.#free.push(this.#writerId)
  }
}

async function findToken(trx: Transaction<Tables>, writerId: string): Promise<string | undefined> {
  const row = trx.selectFrom('writer').select('token').where('writer_id', '=', writerId)
  return (await row.executeTakeFirst())?.token
}

async function record(trx: Transaction<Tables>, writer_id: string, token: string): Promise<void> {
  const row = { token, seen_at: sql<Date>`clock_timestamp()` }
  await trx
    .insertInto('writer')
    .values({ writer_id, ...row })
    .onConflict((conflict) => conflict.column('writer_id').doUpdateSet(row))
    .execute()
}

// Milliseconds between two attempts: doubles from the first to the last.
const FIRST_PAUSE = 5
const LAST_PAUSE = 250

/**
 * Commits each write in a serializable transaction of its own, so that the code of a write may assume that it is the only one, as on SQLite.
 * A transaction that lost against another, or lost its connection, is repeated, unless it was committed and only the answer was lost.
 */
class PooledCommit implements Commit {
  readonly isShared = true
  readonly outage: number
  readonly #db: Kysely<Tables>
  readonly #failingFor: () => number
  readonly #pending = new Set<Promise<unknown>>()
  readonly #writers = new Writers()
  #closed = false

  /**
   * @param outage see `Commit`
   * @param failingFor milliseconds for which the server has been away
   */
  constructor(db: Kysely<Tables>, outage: number, failingFor: () => number) {
    this.#db = db
    this.outage = outage
    this.#failingFor = failingFor
  }

  write<T>(write: Write<T>, patience = PATIENCE): Promise<T> {
    return this.#track(write, patience, 'serializable')
  }

  writeAmongOthers<T>(write: Write<T>): Promise<T> {
    return this.#track(write, PATIENCE, 'read committed')
  }

  #track<T>(write: Write<T>, patience: number, isolation: IsolationLevel): Promise<T> {
    if (this.#closed) return Promise.reject(new STO_ERR_CLOSED())
    const written = this.#repeat(write, patience, isolation)
    this.#pending.add(written)
    return written.finally(() => this.#pending.delete(written))
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#pending)
  }

  async #repeat<T>(write: Write<T>, patience: number, isolation: IsolationLevel): Promise<T> {
    const begunAt = performance.now()
    const attempts = this.#writers.begin<T>()
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LAST_PAUSE)) {
      try {
        const value = await this.#db
          .transaction()
          .setIsolationLevel(isolation)
          .execute((trx) => attempts.run(trx, async () => write(trx)))
        attempts.ended()
        return value
      } catch (err) {
        if (isAway(err)) attempts.lost()
        if (!isPassing(err) || this.#lastsTooLong(err, performance.now() - begunAt, patience)) {
          attempts.ended()
          throw err instanceof Refused ? err.reason : toStoreError(err)
        }
        await pause(wait * (0.5 + Math.random()))
      }
    }
  }

  // Writes that lose against others are no fault of the server, and wait as those of runs do.
  #lastsTooLong(err: unknown, elapsed: number, patience: number): boolean {
    if (isConflict(err)) return elapsed >= Math.max(this.outage, patience)
    return elapsed >= patience || this.#failingFor() >= patience
  }
}

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

const SOURCES = {
  open: 'run_unfinished',
  ended: 'run_end',
  changed: 'run_change',
  labeled: 'run_metadata',
  maxScanned: 2_000,
  aged: 'coalesce(checked_at, created_at)'
} as const

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
    ready
  })
  const { log, runs, checkpoints, sessionEntry, writer, reports, control, dispatch, joined, close, ...node } =
    opened
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
  const commit = new PooledCommit(db, options.outage, () => pool.failingFor)
  const unprepared = { pool: connections.pool, ready, prepare: false }
  const query = createQuery(unprepared, PATIENCE)
  return {
    db,
    sources: SOURCES,
    countEnded: createRunTotals(query, options.schema),
    commit,
    bytes: createBytesInTable(db, commit),
    log,
    runs,
    checkpoints,
    sessionEntry,
    writer,
    reports,
    control,
    dispatch,
    node,
    days: createRunDays(createTransact(unprepared, PATIENCE), options.schema),
    claimant: { id: joined, isShared: true },
    codes: createItemCodes(db),
    sweep: createSweeping({ query, commit, table: (name) => `"${options.schema}"."${name}"` }),
    check: () => probe(commit),
    async close() {
      await commit.close()
      await close()
      await pool.end()
    }
  }
}
