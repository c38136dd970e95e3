import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { install, pack } from '../test/helpers/tarballs.ts'

// Starts the bench on our packages as they are published; with `--sources`, on the sources.
const ROOT = resolve(import.meta.dirname, '..')
/** Where the packages are installed; git ignores it. */
const APP = join(ROOT, 'dist/bench')
/** What packages are built from. */
const SOURCES = [
  'packages/*/{src,page}/**/*',
  'packages/*/{package,tsconfig}.json',
  'tools/bundle-packages.ts',
  'tsconfig.base.json',
  'pnpm-lock.yaml'
]

const args = process.argv.slice(2)
const isOnSources = args.some((arg) => ['--sources', '--help', '-h'].includes(arg))
if (!isOnSources) await installPacked()
const packages = isOnSources
  ? '--conditions=@svc/source'
  : `--import=${import.meta.resolve('./resolve-packed.mjs')}`
const main = join(import.meta.dirname, 'main.ts')
const child = spawn(process.execPath, [packages, '--disable-warning=ExperimentalWarning', main, ...args], {
  stdio: 'inherit',
  env: { ...process.env, NODE_ENV: 'production' }
})
const [code] = (await once(child, 'exit')) as [number | null]
process.exitCode = code ?? 1

/** Builds and packs all packages and installs them in a folder, unless it has those of the same sources. */
async function installPacked(): Promise<void> {
  const digest = digestSources()
  const mark = join(APP, 'digest')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return
  rmSync(APP, { recursive: true, force: true })
  mkdirSync(APP, { recursive: true })
  for (const name of readdirSync(join(ROOT, 'packages'))) await install(await pack(name), name, APP, 'all')
  writeFileSync(mark, digest)
}

function digestSources(): string {
  const hash = createHash('sha256')
  const entries = globSync(SOURCES, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const path of entries.map(({ parentPath, name }) => join(parentPath, name)).toSorted())
    hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}
