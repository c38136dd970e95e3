import type { StatementSync } from 'node:sqlite'
import { SqliteDialect, type SqliteDatabase } from 'kysely'
import type { OpenDatabase } from './open-database.ts'

// Queries are few and always the same text: their statements are prepared once.
const MAX_STATEMENTS = 256

/** Lets kysely use a database of `node:sqlite`. */
export function createNodeSqliteDialect({ database, close }: OpenDatabase): SqliteDialect {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = database.prepare(sql)
      if (statements.size < MAX_STATEMENTS) statements.set(sql, statement)
    }
    return statement
  }
  const adapter: SqliteDatabase = {
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
  return new SqliteDialect({ database: adapter })
}
