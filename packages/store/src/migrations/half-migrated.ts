import { sql, type Kysely } from 'kysely'
import { STO_ERR_HALF_MIGRATED } from '../errors.ts'

/** The tables of versions whose migrations were not transactional. */
const TABLES = new Set([
  'checkpoint',
  'memory_item',
  'memory_item_before',
  'memory_space',
  'memory_word',
  'push_config',
  'run',
  'run_approval',
  'run_part',
  'run_step',
  'session',
  'session_message',
  'task',
  'task_message'
])
const SQLITE_ERROR = 1
const BOOKKEEPING = /^kysely_/

/** The tables of a database. */
export async function listTables(db: Kysely<never>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'sqlite_%'
  `.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * Removes the empty tables that an interrupted first start of an early version left; true if there were any.
 * @param tables the tables before the failed migration
 * @throws STO_ERR_HALF_MIGRATED if they have rows, left by an interrupted upgrade
 */
export async function removeHalfMigrated(
  db: Kysely<never>,
  tables: readonly string[],
  fault: unknown
): Promise<boolean> {
  const own = tables.filter((name) => !BOOKKEEPING.test(name))
  const isOurs = own.length > 0 && own.length < tables.length && own.every((name) => TABLES.has(name))
  if (!isOurs || (fault as { errcode?: number }).errcode !== SQLITE_ERROR) return false
  await db.transaction().execute(async (trx) => {
    for (const name of own) {
      const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(trx)
      if (rows.length > 0) throw new STO_ERR_HALF_MIGRATED((fault as Error).message, { cause: fault })
    }
    for (const name of own) await trx.schema.dropTable(name).execute()
    await sql`delete from kysely_migration`.execute(trx)
  })
  return true
}
