import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import type { Client, ClientConfig, Pool, PoolClient, types } from 'pg'
import { PATIENCE } from '../commit.ts'
import { escapeValues, unescapeNul } from '../encoding/values.ts'
import { STO_ERR_DRIVER_MISSING } from '../errors.ts'
import type { PostgresOptions } from '../options.ts'
import { isAway, isLost, limitIdle, toStoreError } from './query.ts'

/** What is used of `pg`. */
interface Driver {
  readonly Pool: typeof Pool
  readonly Client: typeof Client
  readonly types: typeof types
}

type Parse = (text: string) => unknown

// Milliseconds.
const CONNECT_TIMEOUT = 5_000
const QUERY_TIMEOUT = 30_000
const IDLE_TIMEOUT = 30_000
const KEEPALIVE_DELAY = 10_000

/** Parsers of the types that `pg` would convert otherwise, by their object ids. */
const PARSERS: Readonly<Record<number, Parse>> = {
  // bigint and numeric: no number of ours exceeds 2^53.
  20: Number,
  1700: Number,
  25: unescapeNul,
  1043: unescapeNul
}

/** Opens connections to a database: those of a pool, and others for one purpose each. */
export interface Connections {
  readonly pool: Pool
  /** A client that is not connected yet; `overrides` such as `query_timeout` and `pipeline` are options of `pg`. */
  createClient(overrides?: ClientConfig): Client
}

/** Loads `pg`, which only users of Postgres install. @throws STO_ERR_DRIVER_MISSING */
export async function openPool({ url, pool: max }: PostgresOptions): Promise<Connections> {
  const driver = await loadDriver()
  const parserOf = driver.types.getTypeParser as (oid: number, format?: string) => Parse
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'svc-store',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
    types: {
      getTypeParser: (oid: number, format?: string) =>
        (format !== 'binary' && PARSERS[oid]) || parserOf(oid, format)
    }
  }
  const TextClient = createTextClient(driver.Client)
  const pool = new driver.Pool({ ...config, Client: TextClient, idleTimeoutMillis: IDLE_TIMEOUT, max })
  pool.on('error', ignore)
  return {
    pool,
    createClient: (overrides) => new TextClient({ ...config, ...overrides })
  }
}

async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (err) {
    throw new STO_ERR_DRIVER_MISSING({ cause: err })
  }
}

// Postgres has no null characters, and a connection that does not answer must not be used again.
function createTextClient(Base: typeof Client): typeof Client {
  return class TextClient extends Base {
    readonly #timeout: number

    constructor({ query_timeout: timeout = 0, ...config }: ClientConfig) {
      super(config)
      this.#timeout = timeout
      // Without a listener an error ends the process; queries in progress reject anyway.
      this.on('error', ignore)
    }

    override query(...args: never[]): never {
      const [query, values, ...rest] = args as unknown as [unknown, unknown, ...unknown[]]
      const escaped = [escapeConfig(query), Array.isArray(values) ? escapeValues(values) : values, ...rest]
      const result: unknown = Reflect.apply(super.query, this, escaped)
      if (this.#timeout > 0 && result instanceof Promise) this.#limit(result)
      return result as never
    }

    // Not by the timer of `pg`: after a turn of the event loop that took long, timers come before the answers that have arrived meanwhile.
    #limit(result: Promise<unknown>): void {
      let isSettled = false
      const timer = setTimeout(() => setImmediate(() => isSettled || this.#abandon()), this.#timeout)
      const settle = () => {
        isSettled = true
        clearTimeout(timer)
      }
      result.then(settle, settle)
    }

    #abandon(): void {
      const { stream } = (this as unknown as { connection: { stream: { destroy(err: Error): void } } })
        .connection
      stream.destroy(new Error('Query read timeout'))
    }
  }
}

function escapeConfig(query: unknown): unknown {
  if (typeof query !== 'object' || query === null || !('values' in query)) return query
  return Array.isArray(query.values) ? { ...query, values: escapeValues(query.values) } : query
}

function ignore(): void {}

// Milliseconds between two attempts.
const PAUSE = 100
const BEGIN = /^(?:begin|start transaction)\b/
const LIMIT = `; ${limitIdle(15)}`
const READ = /^(?:select|with)\b/

/**
 * A pool for kysely that waits for a server that restarts: for a connection, and to repeat a read whose connection broke. Once the server has
 * been away for 5 seconds it fails at once.
 */
export class PatientPool implements PostgresPool {
  /** Kysely cancels queries with connections of these options; the store cancels none. */
  readonly options = {}
  readonly #pool: Pool
  readonly #ready: () => Promise<void>
  #failingSince: number | undefined

  /** @param ready rejects while the database cannot be opened */
  constructor(pool: Pool, ready: () => Promise<void>) {
    this.#pool = pool
    this.#ready = ready
  }

  /** Milliseconds since the server was first found away; 0 if it answered since. */
  get failingFor(): number {
    return this.#failingSince === undefined ? 0 : performance.now() - this.#failingSince
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PatientClient(await this.repeat(() => this.#acquire()), this)
  }

  async end(): Promise<void> {
    await this.#pool.end()
  }

  /** Repeats an attempt while the server is away. @throws the store's error for that of the last attempt */
  async repeat<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const value = await attempt()
        this.#failingSince = undefined
        return value
      } catch (err) {
        if (!isAway(err)) throw toStoreError(err)
        this.#failingSince ??= performance.now()
        if (this.failingFor >= PATIENCE) throw toStoreError(err)
        await pause(PAUSE)
      }
    }
  }

  /** A connection of the pool as it is. */
  async reconnect(): Promise<PoolClient> {
    return await this.#acquire()
  }

  async #acquire(): Promise<PoolClient> {
    await this.#ready()
    return await this.#pool.connect()
  }
}

type Query = PostgresPoolClient['query']

class PatientClient implements PostgresPoolClient {
  readonly #pool: PatientPool
  #client: PoolClient | undefined
  #inTransaction = false
  #isBroken = false

  constructor(client: PoolClient, pool: PatientPool) {
    this.#client = client
    this.#pool = pool
  }

  query: Query = ((text: string, parameters: readonly unknown[]) => {
    if (BEGIN.test(text)) this.#inTransaction = true
    const send = () => this.#send(this.#inTransaction && BEGIN.test(text) ? text + LIMIT : text, parameters)
    return !this.#inTransaction && READ.test(text) ? this.#pool.repeat(send) : send()
  }) as Query

  release(destroy = false): void {
    this.#client?.release(destroy || this.#isBroken)
    this.#client = undefined
  }

  async #send(text: string, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#isBroken && !this.#inTransaction) {
      this.release()
      this.#client = await this.#pool.reconnect()
      this.#isBroken = false
    }
    try {
      return await this.#client!.query(text, [...parameters])
    } catch (err) {
      // After a failover another server may be the primary.
      this.#isBroken ||= isLost(err)
      throw err
    }
  }
}

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
