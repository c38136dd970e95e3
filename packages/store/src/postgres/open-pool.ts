import type { Client, ClientConfig, Pool, PoolConfig, types } from 'pg'
import { STO_ERR_DRIVER_MISSING } from '../errors.ts'
import type { PostgresOptions } from '../options.ts'
import { escapeValues, unescapeNul } from '../encoding/escaped-nul.ts'

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
  /** A pool apart from `pool`, which its user ends. */
  createPool(overrides: PoolConfig): Pool
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
  const createPool = (overrides: PoolConfig) => {
    const pool = new driver.Pool({
      ...config,
      Client: TextClient,
      idleTimeoutMillis: IDLE_TIMEOUT,
      ...overrides
    })
    pool.on('error', ignore)
    // Its clients have one already, but graphile-worker checks that their pool gives them one.
    pool.on('connect', (client) => client.on('error', ignore))
    return pool
  }
  return {
    pool: createPool({ max }),
    createPool,
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
    constructor(config?: string | ClientConfig) {
      super(config)
      // Without a listener an error ends the process; queries in progress reject anyway.
      this.on('error', ignore)
    }

    override query(...args: never[]): never {
      const [query, values, ...rest] = args as unknown as [unknown, unknown, ...unknown[]]
      const escaped = [escapeConfig(query), Array.isArray(values) ? escapeValues(values) : values, ...rest]
      const result: unknown = Reflect.apply(super.query, this, escaped)
      if (result instanceof Promise) result.catch((err: unknown) => this.#abandon(err))
      return result as never
    }

    #abandon(err: unknown): void {
      if (err instanceof Error && err.message === 'Query read timeout')
        (this as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    }
  }
}

function escapeConfig(query: unknown): unknown {
  if (typeof query !== 'object' || query === null || !('values' in query)) return query
  return Array.isArray(query.values) ? { ...query, values: escapeValues(query.values) } : query
}

function ignore(): void {}
