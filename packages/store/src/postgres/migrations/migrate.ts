import { sql, type Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { STO_ERR_NEWER_SCHEMA, STO_ERR_OTHER_TABLES } from '../../errors.ts'
import { limitIdle } from '../query.ts'
import { createFirstTables } from './0001-first-tables.ts'
import { addRunStats } from './0002-run-stats.ts'
import { addQueueLines } from './0004-queue-lines.ts'
import { keepRunsApart } from './0005-runs-apart.ts'
import { addFailovers } from './0006-failovers.ts'
import { addSessionSettings } from './0009-session-settings.ts'
import { addMemoryCodes } from './0010-memory-codes.ts'

/** Every migration by its name, in order: one a file. A released one never changes. */
const MIGRATIONS: Readonly<Record<string, (db: Kysely<unknown>, schema: string) => Promise<void>>> = {
  '0001-first-tables': createFirstTables,
  '0002-run-stats': addRunStats,
  '0004-queue-lines': addQueueLines,
  '0005-runs-apart': keepRunsApart,
  '0006-failovers': addFailovers,
  '0009-session-settings': addSessionSettings,
  '0010-memory-codes': addMemoryCodes
}

// Not kysely's default names, which another program may use in the same schema.
const TABLE = 'svc_migration'
const LOCK_TABLE = 'svc_migration_lock'
// Some tables of the first migration.
const OURS = ['run', 'session', 'task', 'file', 'node', 'checkpoint']

/**
 * Applies pending migrations in one transaction; any number of processes may do so at once.
 * @returns the names of the applied ones
 * @throws STO_ERR_NEWER_SCHEMA, STO_ERR_OTHER_TABLES, the errors of the database
 */
export async function migrate(db: Kysely<unknown>, schema: string): Promise<string[]> {
  return await db.transaction().execute(async (trx) => {
    await sql.raw(limitIdle(15)).execute(trx)
    await sql`select pg_advisory_xact_lock(hashtextextended(${`svc migrate ${schema}`}, 0))`.execute(trx)
    if (await isCurrent(trx, schema)) return []
    const known = await sql`select from pg_namespace where nspname = ${schema}`.execute(trx)
    if (known.rows.length === 0) await trx.schema.createSchema(schema).execute()
    const { error, results } = await new Migrator({
      db: trx,
      provider: { getMigrations: async () => migrationsOf(schema) },
      migrationTableSchema: schema,
      migrationTableName: TABLE,
      migrationLockTableName: LOCK_TABLE
    }).migrateToLatest()
    if (error !== undefined) throw error as Error
    return (results ?? []).map(({ migrationName }) => migrationName)
  })
}

function migrationsOf(schema: string): Record<string, Migration> {
  const named = Object.entries(MIGRATIONS).map(([name, up]) => [
    name,
    { up: (db: Kysely<unknown>) => up(db, schema) }
  ])
  return Object.fromEntries(named) as Record<string, Migration>
}

/**
 * True if no migration is pending; much faster than kysely's look at all tables of the database.
 * @throws STO_ERR_NEWER_SCHEMA, STO_ERR_OTHER_TABLES
 */
export async function isCurrent(db: Kysely<unknown>, schema: string): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = ${schema} and tablename = any(${[TABLE, ...OURS]})
  `.execute(db)
  const tables = rows.map(({ name }) => name)
  if (!tables.includes(TABLE)) {
    const other = OURS.find((name) => tables.includes(name))
    if (other !== undefined) throw new STO_ERR_OTHER_TABLES(schema, other)
    return false
  }
  const applied = await sql<{ name: string }>`select name from ${sql.table(`${schema}.${TABLE}`)}`.execute(db)
  const names = new Set(applied.rows.map(({ name }) => name))
  const newer = [...names].find((name) => !(name in MIGRATIONS))
  if (newer !== undefined) throw new STO_ERR_NEWER_SCHEMA(newer)
  return names.size === Object.keys(MIGRATIONS).length
}
