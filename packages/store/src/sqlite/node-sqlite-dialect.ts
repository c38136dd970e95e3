import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
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
import { escapeNul, unescapeNul } from '../encoding/escaped-nul.ts'
import type { OpenDatabase } from './open-database.ts'

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
