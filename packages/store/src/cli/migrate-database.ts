import type { PostgresOptions, SqliteOptions } from '../options.ts'
import { withConnection } from '../postgres/with-connection.ts'
import { migrate } from '../postgres/migrations/migrate.ts'
import { openSqlite } from '../sqlite/open-sqlite.ts'

/**
 * Applies pending migrations.
 * @param print prints the name of each
 * @throws the errors of `createStore`
 */
export async function migrateDatabase(
  database: SqliteOptions | PostgresOptions,
  print: (line: string) => void
): Promise<void> {
  const applied = database.kind === 'sqlite' ? await migrateFile(database) : await migrateSchema(database)
  for (const name of applied) print(`applied ${name}`)
  print('the database is up to date')
}

async function migrateFile(options: SqliteOptions): Promise<readonly string[]> {
  const { applied, close } = await openSqlite(options)
  await close()
  return applied
}

function migrateSchema(options: PostgresOptions): Promise<readonly string[]> {
  return withConnection(options, (db) => migrate(db, options.schema))
}
