import { mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  type DatabaseConnection,
  type Dialect,
  type SqliteDatabase,
  type SqliteStatement
} from 'kysely'
import { escapeNul, unescapeNul } from '../encoding/values.ts'
import { STO_ERR_FILE_GONE, STO_ERR_HARD_LINKS, STO_ERR_IN_USE, STO_ERR_OPEN } from '../errors.ts'
import type { SqliteOptions } from '../options.ts'

// Milliseconds that a check of the files stays valid, since checking at every write is too slow.
const MAX_AGE = 1_000

/** The file of an open database; checks that its path still leads to it. */
class OpenFile {
  readonly path: string
  readonly #identity: string | undefined
  // Of the write-ahead log, once it exists.
  #walIdentity: string | undefined
  #lookedAt = -MAX_AGE

  /** @throws STO_ERR_HARD_LINKS if the file has another name: its lock and its write-ahead log are found by name */
  constructor(path: string) {
    const { nlink } = statSync(path)
    if (nlink > 1) throw new STO_ERR_HARD_LINKS(path, nlink)
    this.path = path
    this.#identity = identify(path)
  }

  /** @throws STO_ERR_FILE_GONE */
  requireThere(): void {
    const now = performance.now()
    if (now - this.#lookedAt < MAX_AGE) return
    const wal = identify(`${this.path}-wal`)
    this.#walIdentity ??= wal
    if (identify(this.path) !== this.#identity || isEmpty(this.path)) throw new STO_ERR_FILE_GONE(this.path)
    if (wal !== this.#walIdentity) throw new STO_ERR_FILE_GONE(`${this.path}-wal`)
    this.#lookedAt = now
  }
}

function identify(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

function isEmpty(path: string): boolean {
  return statSync(path).size === 0
}

// Long enough for a predecessor that is exiting.
const WAIT = 500
const SQLITE_BUSY = 5

/**
 * Locks a database for this process by an exclusive transaction on an empty database beside it, which ends with the process
 * however it dies. Readers of the database itself are not locked out. Returns the function that releases the lock.
 * @throws STO_ERR_IN_USE
 */
function lockFile(path: string): () => void {
  const lock = new DatabaseSync(`${path}-lock`, { timeout: WAIT })
  try {
    // Without a journal there is no second file.
    lock.exec('pragma journal_mode = memory; begin exclusive')
  } catch (err) {
    lock.close()
    throw (err as { errcode?: number }).errcode === SQLITE_BUSY ? new STO_ERR_IN_USE(path) : err
  }
  return () => lock.close()
}

// Milliseconds to wait for other programs at the start.
const OPENING_TIMEOUT = 5_000
// Pages of the write-ahead log after which it is copied into the file, 16 MiB: pages that change often are copied less often.
const MAX_WAL = 4_000
// Bytes of disk that the idle write-ahead log keeps.
const MAX_IDLE_WAL = 67_108_864

/** A database open in this process only. */
export interface OpenDatabase {
  readonly database: DatabaseSync
  /** The real path of its file; undefined for a database in memory. */
  readonly path: string | undefined
  /** @throws STO_ERR_FILE_GONE if the file was deleted, moved or replaced; detected within a second */
  requireFile(): void
  close(): void
}

/**
 * Opens the file; creates it and its folder if needed.
 * @throws STO_ERR_OPEN, STO_ERR_IN_USE, STO_ERR_HARD_LINKS
 */
export function openDatabase({
  path,
  durability,
  secureDelete = false
}: Pick<SqliteOptions, 'path' | 'durability'> & Partial<Pick<SqliteOptions, 'secureDelete'>>): OpenDatabase {
  const opened: (() => void)[] = []
  const close = () => {
    for (const each of opened.splice(0)) each()
  }
  try {
    const inMemory = path === ':memory:'
    const file = inMemory ? path : resolve(path)
    if (!inMemory) mkdirSync(dirname(file), { recursive: true })
    const database = new DatabaseSync(file, { timeout: OPENING_TIMEOUT, enableForeignKeyConstraints: true })
    opened.push(() => database.close())
    // By its real path, so that symbolic links share one lock.
    const openFile = inMemory ? undefined : new OpenFile(realpathSync(file))
    if (openFile !== undefined) opened.push(lockFile(openFile.path))
    // Only before the first write to a new file: later it has no effect and would wait for other programs.
    if (isNew(database)) database.exec('pragma auto_vacuum = incremental')
    database.exec(
      `pragma journal_mode = wal; pragma wal_autocheckpoint = ${MAX_WAL}; pragma synchronous = ${durability}; pragma journal_size_limit = ${MAX_IDLE_WAL}`
    )
    database.exec(`pragma secure_delete = ${secureDelete ? 'on' : 'off'}`)
    // From here on a locked database is retried later instead of blocking the process.
    database.exec('pragma busy_timeout = 0')
    return { database, path: openFile?.path, requireFile: () => openFile?.requireThere(), close }
  } catch (err) {
    close()
    if (err instanceof STO_ERR_IN_USE || err instanceof STO_ERR_HARD_LINKS) throw err
    throw new STO_ERR_OPEN((err as Error).message, { cause: err })
  }
}

function isNew(database: DatabaseSync): boolean {
  return database.prepare('pragma page_count').get()!['page_count'] === 0
}

type Row = Record<string, SQLOutputValue>

// Query texts are few and constant, so each statement is prepared once.
const MAX_STATEMENTS = 256

/** A kysely dialect for `node:sqlite`. */
export function createNodeSqliteDialect({ database, close }: OpenDatabase): Dialect {
  const config = { database: toKysely(database, close) }
  const sqlite = new SqliteDialect(config)
  return {
    createAdapter: () => new NodeSqliteAdapter(),
    createDriver: () => new NodeSqliteDriver(config, database),
    createIntrospector: (db) => sqlite.createIntrospector(db),
    createQueryCompiler: () => sqlite.createQueryCompiler()
  }
}

/** Makes a migration and its bookkeeping one transaction, which SQLite supports though kysely's adapter denies it. */
class NodeSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class NodeSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSync

  constructor(config: { database: SqliteDatabase }, database: DatabaseSync) {
    super(config)
    this.#database = database
  }

  // Takes the write lock first, so that a busy database fails before any work.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  // SQLite rolls back by itself after some errors, such as a full disk; a second rollback would hide the error.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection)
  }
}

function toKysely(database: DatabaseSync, close: () => void): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const known = statements.get(sql)
      if (known !== undefined) return known
      const statement = prepareStatement(database, sql)
      if (statements.size < MAX_STATEMENTS) statements.set(sql, statement)
      return statement
    },
    close
  }
}

/** A statement that escapes null characters. */
export function prepareStatement(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql)
  const columns = statement.columns()
  // Computed columns have no declared type.
  const texts = columns
    .filter(({ type }) => type === null || type.toLowerCase() === 'text')
    .map(({ name }) => name)
  const unescapeRow = (row: Row): Row => {
    for (const name of texts) {
      const value = row[name]
      if (typeof value === 'string') row[name] = unescapeNul(value)
    }
    return row
  }
  return {
    reader: columns.length > 0,
    all: (parameters) => statement.all(...escapeAll(parameters)).map(unescapeRow),
    run: (parameters) => statement.run(...escapeAll(parameters)),
    *iterate(parameters) {
      for (const row of statement.iterate(...escapeAll(parameters))) yield unescapeRow(row)
    }
  }
}

function escapeAll(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters.map((value) => (typeof value === 'string' ? escapeNul(value) : (value as SQLInputValue)))
}
