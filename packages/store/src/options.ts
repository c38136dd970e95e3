import { Type } from '@sinclair/typebox'
import { defined, optionsSchema, requireOptions } from '@svc/contract'
import { STO_ERR_BAD_OPTION } from './errors.ts'

/** Options of a store. */
export interface StoreOptions {
  /**
   * `sqlite:` and a path, or `sqlite::memory:`; `postgres://user:password@host:port/database`, which any number of processes share. Default
   * `sqlite:./data/app.db`.
   */
  url?: string
  /** On SQLite: `normal` (default) survives every crash of the process, `full` also a power failure. */
  durability?: 'normal' | 'full'
  /**
   * On SQLite: true to overwrite what is removed, in the file of the database, which makes removals write more; default false: the bytes
   * stay until their pages are used again.
   */
  secureDelete?: boolean
  /** On Postgres: the schema of the tables, created if it does not exist; default `public`. */
  schema?: string
  /** On Postgres: maximum connections of this process for all but the logs of runs; default 6. */
  pool?: number
  /**
   * On Postgres: milliseconds that the writes of runs in progress wait for a server that does not answer, before the runs end; default
   * 60,000.
   */
  outage?: number
  /** On Postgres: how the process has its runs, beside others on the same database. */
  lease?: Partial<LeaseTimes>
  /**
   * On Postgres: the URL of the server itself, if `url` leads to a pooler of transactions such as PgBouncer; for notifications and the
   * lease, which need a connection of their own.
   */
  listenUrl?: string
  /**
   * On Postgres: true to keep prepared statements and settings in connections, which many poolers do not support; default true without
   * `listenUrl`.
   */
  prepare?: boolean
  retention?: Partial<Retention>
  files?: Partial<FileLimits>
  /** On SQLite: how memories are found by the similarity of their embeddings. */
  vectors?: Partial<VectorLimits>
  /**
   * 32 bytes in base64 or hexadecimal digits, which encrypt the cookies and local storage of browsers. Without it they are not stored.
   */
  stateKey?: string
}

/** How long a node may be out of contact; see `NodeLease`. */
export interface LeaseTimes {
  /** Milliseconds without contact after which other nodes take its runs; default 10,000. A second after a missed beat if its connections are closed. */
  ttl: number
  /** Milliseconds between two contacts; default 2,500. At most a third of `ttl`. */
  beat: number
}

/** The limits of the files of runs; see `RUN_ERR_FILE_LIMIT`. */
export interface FileLimits {
  /** Maximum bytes of one file; default 100 MiB. */
  maxBytes: number
  /** Maximum bytes of the files of one run; default 512 MiB. */
  maxRunBytes: number
}

/** The limits of what is kept in process memory of embeddings. */
export interface VectorLimits {
  /**
   * Maximum bytes of the codes of embeddings, estimated at 128 each; default 64 MiB. Those of the owner and agent searched last stay,
   * however many.
   */
  cacheBytes: number
}

/** What a store keeps, and for how long. */
export interface Retention {
  /** Retention of finished runs in milliseconds; default 7 days. */
  maxAge: number
  /** Maximum number of finished runs; default 100,000. */
  maxRuns: number
  /** Maximum bytes of their logs, results and steps; default 1 GiB. */
  maxBytes: number
  /** Maximum bytes of the files of finished runs; default 4 GiB. */
  fileMaxBytes: number
  /** Retention of a session after its last message in milliseconds; default 30 days, 0 keeps it forever. */
  sessionMaxAge: number
  /** Maximum number of memories per owner and agent; default 10,000. */
  memoryMaxItems: number
  /** Retention of a memory in milliseconds; default 365 days, 0 keeps it forever. */
  memoryMaxAge: number
}

// Names that need no quotes, and leave space for suffixes.
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,49}$/

export const StoreOptionsSchema = optionsSchema<StoreOptions>({
  url: Type.String(),
  durability: Type.Union([Type.Literal('normal'), Type.Literal('full')]),
  secureDelete: Type.Boolean(),
  schema: Type.String({ pattern: SCHEMA_NAME.source }),
  pool: Type.Integer({ minimum: 2, maximum: 1_000 }),
  outage: Type.Integer({ minimum: 0 }),
  lease: optionsSchema<Partial<LeaseTimes>>({
    ttl: Type.Integer({ minimum: 300, maximum: 600_000 }),
    beat: Type.Integer({ minimum: 50, maximum: 200_000 })
  }),
  listenUrl: Type.String(),
  prepare: Type.Boolean(),
  retention: optionsSchema<Partial<Retention>>({
    maxAge: Type.Integer({ minimum: 0 }),
    maxRuns: Type.Integer({ minimum: 0 }),
    maxBytes: Type.Integer({ minimum: 0 }),
    fileMaxBytes: Type.Integer({ minimum: 0 }),
    sessionMaxAge: Type.Integer({ minimum: 0 }),
    memoryMaxItems: Type.Integer({ minimum: 1 }),
    memoryMaxAge: Type.Integer({ minimum: 0 })
  }),
  files: optionsSchema<Partial<FileLimits>>({
    maxBytes: Type.Integer({ minimum: 0 }),
    maxRunBytes: Type.Integer({ minimum: 0 })
  }),
  vectors: optionsSchema<Partial<VectorLimits>>({ cacheBytes: Type.Integer({ minimum: 0 }) }),
  stateKey: Type.String()
})

/** A file, or a database in memory. */
export interface SqliteOptions {
  readonly kind: 'sqlite'
  /** The file; `:memory:` for none. */
  readonly path: string
  readonly durability: 'normal' | 'full'
  readonly secureDelete: boolean
  /** Maximum bytes of the codes of embeddings in memory. */
  readonly codeBytes: number
}

/** A database that processes share. */
export interface PostgresOptions {
  readonly kind: 'postgres'
  readonly url: string
  readonly schema: string
  readonly pool: number
  readonly outage: number
  readonly lease: LeaseTimes
  readonly listenUrl: string | undefined
  readonly prepare: boolean
}

/** Options with their defaults. */
export interface ResolvedOptions {
  database: SqliteOptions | PostgresOptions
  retention: Retention
  files: FileLimits
  stateKey: Buffer | undefined
}

const DAY = 86_400_000
const DEFAULT_RETENTION: Retention = {
  maxAge: 7 * DAY,
  maxRuns: 100_000,
  maxBytes: 1_073_741_824,
  fileMaxBytes: 4_294_967_296,
  sessionMaxAge: 30 * DAY,
  memoryMaxItems: 10_000,
  memoryMaxAge: 365 * DAY
}
const DEFAULT_LEASE: LeaseTimes = { ttl: 10_000, beat: 2_500 }
const DEFAULT_VECTORS: VectorLimits = { cacheBytes: 67_108_864 }
const DEFAULT_FILES: FileLimits = { maxBytes: 104_857_600, maxRunBytes: 536_870_912 }

/** Validates options and fills in the defaults. @throws STO_ERR_BAD_OPTION */
export function resolveOptions(options: StoreOptions): ResolvedOptions {
  requireOptions(StoreOptionsSchema, options, STO_ERR_BAD_OPTION)
  const { retention = {}, files = {} } = options
  return {
    database: databaseOf(options),
    retention: { ...DEFAULT_RETENTION, ...defined(retention) },
    files: { ...DEFAULT_FILES, ...defined(files) },
    stateKey: options.stateKey === undefined ? undefined : keyOf(options.stateKey)
  }
}

const KEY_BYTES = 32

// Never shows the key.
function keyOf(text: string): Buffer {
  const key = Buffer.from(text, /^[\da-f]{64}$/i.test(text) ? 'hex' : 'base64')
  if (key.length !== KEY_BYTES)
    throw new STO_ERR_BAD_OPTION('stateKey: expected 32 bytes, in base64 or as 64 hexadecimal digits')
  return key
}

// A URL may have a password, so it is never shown.
function databaseOf({
  url = 'sqlite:./data/app.db',
  ...options
}: StoreOptions): SqliteOptions | PostgresOptions {
  const kind = /^postgres(?:ql)?:/.test(url) ? 'postgres' : 'sqlite'
  for (const name of kind === 'sqlite' ? POSTGRES_ONLY : SQLITE_ONLY)
    if (options[name] !== undefined)
      throw new STO_ERR_BAD_OPTION(`${name}: it has no effect on ${TITLES[kind]}`)
  if (kind === 'sqlite') {
    const { durability = 'normal', secureDelete = false, vectors = {} } = options
    const { cacheBytes: codeBytes } = { ...DEFAULT_VECTORS, ...defined(vectors) }
    return { kind, path: pathOf(url), durability, secureDelete, codeBytes }
  }
  if (!URL.canParse(url))
    throw new STO_ERR_BAD_OPTION('url: it must be `postgres://user:password@host:port/database`')
  return {
    kind,
    url,
    schema: options.schema ?? 'public',
    pool: options.pool ?? 6,
    outage: options.outage ?? 60_000,
    lease: leaseOf(options.lease),
    listenUrl: options.listenUrl,
    prepare: options.prepare ?? options.listenUrl === undefined
  }
}

function leaseOf(given: Partial<LeaseTimes> = {}): LeaseTimes {
  const lease = { ...DEFAULT_LEASE, ...defined(given) }
  if (lease.beat * 3 > lease.ttl)
    throw new STO_ERR_BAD_OPTION('lease.beat: it must be at most a third of `lease.ttl`')
  return lease
}

const TITLES = { sqlite: 'SQLite', postgres: 'Postgres' }
const SQLITE_ONLY = ['durability', 'secureDelete', 'vectors'] as const
const POSTGRES_ONLY = ['schema', 'pool', 'outage', 'lease', 'listenUrl', 'prepare'] as const

function pathOf(url: string): string {
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (path === undefined)
    throw new STO_ERR_BAD_OPTION('url: it must be `sqlite:` and a path, or `postgres://…`')
  if (path.includes('\u0000')) throw new STO_ERR_BAD_OPTION('url: the path has a null character')
  return path
}
