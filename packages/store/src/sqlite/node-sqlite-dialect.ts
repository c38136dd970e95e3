import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  type DatabaseConnection,
  type Dialect,
  type SqliteDatabase
} from 'kysely'
import type { OpenDatabase } from './open-database.ts'

// Queries are few and always the same text: their statements are prepared once.
const MAX_STATEMENTS = 256

/** Lets kysely use a database of `node:sqlite`. */
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

/** Lets a migration and its bookkeeping be one transaction: SQLite can do that, though kysely's adapter denies it. */
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

  // Takes the writer's lock at once: a database that is busy says so before anything is done.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  // SQLite itself rolls back after some faults, such as a full disk; a second rollback would hide the fault.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection)
  }
}

function toKysely(database: DatabaseSync, close: () => void): SqliteDatabase {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = database.prepare(sql)
      if (statements.size < MAX_STATEMENTS) statements.set(sql, statement)
    }
    return statement
  }
  return {
    prepare(sql) {
      const statement = prepare(sql)
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...(parameters as [])),
        run: (parameters) => statement.run(...(parameters as [])),
        iterate: (parameters) => statement.iterate(...(parameters as []))
      }
    },
    close
  }
}
