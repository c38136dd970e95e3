import { parseArgs } from 'node:util'
import { codeOf } from '@svc/contract'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Backend } from '../backend.ts'
import { STO_ERR_BAD_OPTION, STO_ERR_COPY, STO_ERR_NOT_EMPTY } from '../errors.ts'
import { resolveOptions, type PostgresOptions, type SqliteOptions } from '../options.ts'
import { inChunks } from '../postgres/bytes-in-table.ts'
import { toBits } from '../postgres/item-codes.ts'
import { migrate } from '../postgres/migrations/migrate.ts'
import { withConnection } from '../postgres/open-pool.ts'
import { openSqlite } from '../sqlite/open-sqlite.ts'
import type { Tables } from '../tables.ts'

type Table = keyof Tables

/** What reports progress. */
type Print = (line: string) => void

// A table after those that it refers to.
const TABLES = [
  'run',
  'run_value',
  'run_part',
  'run_step',
  'run_steer',
  'run_input',
  'checkpoint',
  'schedule',
  'webhook',
  'webhook_delivery',
  'session',
  'session_message',
  'session_branch',
  'session_run',
  'browser_state',
  'remote_session',
  'memory_space',
  'memory_item',
  'memory_word',
  'task',
  'task_message',
  'push_config',
  'file'
] as const satisfies readonly Table[]
// Columns whose next value the database chooses.
const COUNTED = { webhook_delivery: 'seq', memory_space: 'space_id', memory_item: 'item_id' } as const
// Rows per statement, each with at most 32 columns, and their approximate bytes.
const BATCH = 500
const BATCH_BYTES = 4_194_304
// Milliseconds between two lines of progress.
const PRINT_EVERY = 1_000

/**
 * Copies a file, which no service may have open, into a schema without data, in one transaction: it has everything or nothing.
 * @throws STO_ERR_NOT_EMPTY, STO_ERR_COPY, the errors of `createStore`
 */
async function copyDatabase(from: SqliteOptions, to: PostgresOptions, print: Print): Promise<void> {
  const source = await openSqlite(from)
  try {
    await withConnection(to, async (plain) => {
      await migrate(plain, to.schema)
      const db = (plain as Kysely<Tables>).withSchema(to.schema)
      await db.transaction().execute(async (trx) => {
        await requireEmpty(trx, to.schema)
        for (const table of TABLES) await copyTable(source.db, trx, table, print)
        await copyFiles(source, trx, print)
        for (const [table, column] of Object.entries(COUNTED)) await setCounter(trx, to.schema, table, column)
        await verify(source.db, trx)
        for (const table of TABLES) await sql`analyze ${sql.table(`${to.schema}.${table}`)}`.execute(trx)
      })
    })
  } finally {
    await source.close()
  }
  print('copied')
}

// Locks services out of the tables, which would add data meanwhile.
async function requireEmpty(trx: Transaction<Tables>, schema: string): Promise<void> {
  for (const table of TABLES) {
    await sql`lock table ${sql.table(`${schema}.${table}`)} in share row exclusive mode`.execute(trx)
    const found = await trx
      .selectFrom(table as 'run')
      .select(sql<number>`1`.as('one'))
      .limit(1)
      .execute()
    if (found.length > 0) throw new STO_ERR_NOT_EMPTY(schema, table)
  }
}

async function copyTable(
  db: Kysely<Tables>,
  trx: Transaction<Tables>,
  table: Table,
  print: Print
): Promise<void> {
  const total = await count(db, table)
  const report = createReport(table, total, print)
  let copied = 0
  let batch: object[] = []
  let bytes = 0
  const flush = async () => {
    if (batch.length > 0)
      await trx
        .insertInto(table as 'run')
        .values(batch as never)
        .execute()
    copied += batch.length
    report(copied)
    batch = []
    bytes = 0
  }
  for await (const row of db
    .selectFrom(table as 'run')
    .selectAll()
    .stream()) {
    batch.push(toPostgres(row))
    bytes += sizeOf(row)
    if (batch.length === BATCH || bytes >= BATCH_BYTES) await flush()
  }
  await flush()
}

async function copyFiles({ db, bytes }: Backend, trx: Transaction<Tables>, print: Print): Promise<void> {
  const files = await db.selectFrom('file').select(['file_id', 'run_id', 'size']).execute()
  const report = createReport('contents of files', files.length, print)
  for (const [at, { file_id, run_id, size }] of files.entries()) {
    const file = { runId: run_id, fileId: file_id }
    if ((await bytes.size(file)) !== size)
      throw new STO_ERR_COPY(`the content of file ${file_id} is missing or cut off`)
    let seq = 0
    for await (const chunk of inChunks(bytes.read(file, 0, size)))
      await trx.insertInto('file_chunk').values({ run_id, file_id, seq: seq++, bytes: chunk }).execute()
    report(at + 1)
  }
}

async function setCounter(
  trx: Transaction<Tables>,
  schema: string,
  table: string,
  column: string
): Promise<void> {
  const last = sql`select max(${sql.ref(column)}) as last from ${sql.table(`${schema}.${table}`)}`
  await sql`
    select setval(pg_get_serial_sequence(${`"${schema}".${table}`}, ${column}), last) from (${last}) as maximum where last is not null
  `.execute(trx)
}

async function verify(db: Kysely<Tables>, trx: Transaction<Tables>): Promise<void> {
  for (const table of TABLES) {
    const [expected, copied] = [await count(db, table), await count(trx, table)]
    if (expected !== copied)
      throw new STO_ERR_COPY(`${table} has ${expected} rows, of which ${copied} were copied`)
  }
}

async function count(db: Kysely<Tables>, table: Table): Promise<number> {
  const { rows } = await db
    .selectFrom(table as 'run')
    .select((select) => select.fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow()
  return rows
}

// SQLite has no times, which are texts in UTC there, and no bits. Postgres computes the slot of a session itself.
function toPostgres({
  updated_slot: _,
  ...row
}: {
  cancel_at?: unknown
  code?: unknown
  updated_slot?: unknown
}): object {
  if (typeof row.cancel_at === 'string') return { ...row, cancel_at: new Date(`${row.cancel_at}Z`) }
  return row.code instanceof Uint8Array ? { ...row, code: toBits(row.code) } : row
}

function sizeOf(row: object): number {
  let size = 0
  for (const value of Object.values(row))
    if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
  return size
}

// Prints the first and the last line, and one a second between them.
function createReport(what: string, total: number, print: Print): (done: number) => void {
  let printedAt = performance.now()
  return (done) => {
    if (done < total && performance.now() - printedAt < PRINT_EVERY) return
    printedAt = performance.now()
    print(`${what}: ${done} of ${total}`)
  }
}

/**
 * Applies pending migrations.
 * @param print prints the name of each
 * @throws the errors of `createStore`
 */
async function migrateDatabase(
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

const USAGE = `Usage:
  svc-store migrate [url] [--schema name]     applies pending migrations
  svc-store copy <from> [to] [--schema name]  copies an SQLite file into an empty schema of Postgres

A URL is sqlite:<path> or postgres://user:password@host:port/database. DATABASE_URL stands for one that is missing, so that a password need not be on
the command line. --schema is the schema on Postgres, by default public.
`
// By convention, as in sysexits.h: the command was used wrongly.
const EX_USAGE = 64

class UsageError extends Error {}

/** Where a command reads and writes. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

/** Runs a command; returns the exit code of the process: 0, 1 for a failure, 64 for a wrong use. */
export async function runCommand(args: string[], terminal: Terminal): Promise<number> {
  try {
    await run(args, terminal)
    return 0
  } catch (err) {
    const { message } = err as Error
    const isUsage = err instanceof UsageError || err instanceof STO_ERR_BAD_OPTION
    terminal.stderr.write(isUsage ? `${message}\n\n${USAGE}` : `${codeOf(err) ?? 'Error'}: ${message}\n`)
    return isUsage ? EX_USAGE : 1
  }
}

async function run(args: string[], { env, stdout }: Terminal): Promise<void> {
  const print = (line: string) => void stdout.write(`${line}\n`)
  const { values, positionals } = parse(args)
  if (values.help === true) return void stdout.write(USAGE)
  const [command, ...urls] = positionals
  const databaseAt = (at: number) => {
    const url = urls[at] ?? env['DATABASE_URL']
    if (url === undefined) throw new UsageError('Missing URL')
    const isPostgres = /^postgres(?:ql)?:/.test(url)
    return resolveOptions({
      url,
      ...(isPostgres && values.schema !== undefined && { schema: values.schema })
    }).database
  }
  if (command === 'migrate' && urls.length <= 1) return await migrateDatabase(databaseAt(0), print)
  if (command === 'copy' && urls.length >= 1 && urls.length <= 2) {
    const [from, to] = [databaseAt(0), databaseAt(1)]
    if (from.kind !== 'sqlite' || to.kind !== 'postgres')
      throw new UsageError('Only SQLite can be copied, and only to Postgres')
    return await copyDatabase(from, to, print)
  }
  throw new UsageError(
    command === undefined ? 'Missing command' : `Unknown command, or a wrong number of URLs: ${command}`
  )
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { schema: { type: 'string' }, help: { type: 'boolean', short: 'h' } }
    })
  } catch (err) {
    throw new UsageError((err as Error).message, { cause: err })
  }
}
