import { parseArgs } from 'node:util'
import { codeOf } from '@svc/contract'
import { STO_ERR_BAD_OPTION } from '../errors.ts'
import { resolveOptions } from '../options.ts'
import { copyDatabase } from './copy-database.ts'
import { migrateDatabase } from './migrate-database.ts'

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
