import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../..')
const execute = promisify(execFile)

/** The path of a program installed in the root. */
export const bin = (name: string) => join(ROOT, 'node_modules/.bin', name)

/** Runs a program without the Node options that tap sets for child processes: tsc 7 does not start with them. */
export const run = (program: string, args: string[], cwd: string) =>
  execute('env', ['-u', 'NODE_OPTIONS', program, ...args], { cwd })

/** The compiler errors of a user's project, one per line, without those in third-party types. */
export async function compileAsUser(cwd: string, ...args: string[]): Promise<string[]> {
  const flags = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--pretty', 'false']
  // Several threads would check the same types several times.
  const options = [...flags, '--singleThreaded']
  const { stdout } = await run(bin('tsc'), [...options, ...args], cwd).catch(
    (err: unknown) => err as { stdout: string }
  )
  return stdout.split('\n').filter((line) => /^[^ ]/.test(line) && !/^node_modules\/(?!@svc\/)/.test(line))
}

let built: Promise<void> | undefined
let packed: Promise<string> | undefined

/** Builds every package; once for all test files of a process. */
export const build = () => (built ??= buildAll())

async function buildAll(): Promise<void> {
  const packages = globSync('packages/*', { cwd: ROOT })
  await run(bin('tsc'), ['-b', '--singleThreaded', ...packages], ROOT)
  await run(process.execPath, ['tools/bundle-packages.ts', ...packages], ROOT)
  await run(process.execPath, ['packages/console/page/build/main.ts'], ROOT)
}

/** Builds every package and packs it as for publishing, once for all test files of a process; returns the path of the tarball of one. */
export async function pack(name: string): Promise<string> {
  const folder = await (packed ??= packAll())
  return join(folder, globSync(`svc-${name}-[0-9]*.tgz`, { cwd: folder })[0]!)
}

async function packAll(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'packed-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await build()
  await run(
    bin('pnpm'),
    ['--recursive', '--filter', './packages/*', 'pack', '--pack-destination', folder],
    ROOT
  )
  return folder
}

/** Which peers of a package are installed with it. */
type Peers = 'required' | 'all'

/** Installs a tarball in a folder; by default without the optional peers of its package. */
export async function install(
  tarball: string,
  name: string,
  app: string,
  peers: Peers = 'required'
): Promise<void> {
  const installed = join(app, 'node_modules/@svc', name)
  // A package that depends on this one may have linked its folder.
  rmSync(installed, { recursive: true, force: true })
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed], app)
  placeDependencies(join(ROOT, 'packages', name), join(app, 'node_modules'), peers)
}

interface Dependencies {
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/** Installs a package's dependencies beside it, like npm: copies those its child process reads, links the rest. */
function placeDependencies(from: string, to: string, peers: Peers): void {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(from, 'package.json'), 'utf8')
  ) as Dependencies
  const all = Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => peers === 'all' || peerDependenciesMeta?.[name]?.optional !== true)
    .map((name) => [name, join(from, 'node_modules', name)])
  if (dependencies?.['quickjs-emscripten-core'] !== undefined) {
    const core = dirname(realpathSync(join(from, 'node_modules/quickjs-emscripten-core')))
    all.push(['@jitl/quickjs-ffi-types', join(core, '@jitl/quickjs-ffi-types')])
  }
  for (const [name = '', path = ''] of all) {
    if (existsSync(join(to, name))) continue
    mkdirSync(dirname(join(to, name)), { recursive: true })
    if (name.includes('quickjs')) cpSync(realpathSync(path), join(to, name), { recursive: true })
    else symlinkSync(realpathSync(path), join(to, name))
  }
}
