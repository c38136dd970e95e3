import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, extname, join, parse } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findEntry, resolveFrom } from '@svc/registry/engine'
import { RUN_ERR_NOT_INSTALLED } from '../errors.ts'

const DETECTION_MS = 5_000
// Shared libraries that Node is linked against.
const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/etc/ld.so.cache']

/** Arguments of bubblewrap: no network, no other processes, no files except the libraries and `readable`. */
function bubblewrapArgs(readable: readonly string[]): string[] {
  const bound = [...LIBRARIES, process.execPath, ...readable].filter((path) => existsSync(path))
  return [
    '--unshare-all',
    '--die-with-parent',
    '--new-session',
    '--as-pid-1',
    '--cap-drop',
    'ALL',
    '--clearenv',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...bound.flatMap((path) => ['--ro-bind', path, path]),
    '--'
  ]
}

let works: boolean | undefined

/** True if bubblewrap is installed and works here; probed once, by starting Node in it. */
export function hasBubblewrap(): boolean {
  works ??=
    process.platform === 'linux' &&
    spawnSync('bwrap', [...bubblewrapArgs([]), process.execPath, '--version'], {
      env: { PATH: process.env['PATH'] },
      stdio: 'ignore',
      timeout: DETECTION_MS,
      killSignal: 'SIGKILL'
    }).status === 0
  return works
}

/** The command line of a child. */
export interface ChildCommand {
  readonly file: string
  readonly args: readonly string[]
}

/** Limits of a child, in addition to those of each program. */
export interface ChildBounds {
  /** Maximum heap of a program, in bytes. */
  readonly maxMemory: number
  /** CPU seconds in its lifetime; the kernel kills it after that, even if this process is gone. */
  readonly cpuSeconds: number
  readonly bubblewrap: boolean
}

const VARIANT = '@jitl/quickjs-ng-wasmfile-release-sync'
const TYPES = '@jitl/quickjs-ffi-types'
// In Node 24 it opens files in spite of the permissions.
const NO_SQLITE = '--no-experimental-sqlite'
// WebAssembly memories count towards it: a smaller heap is collected after every second program.
const NODE_HEAP_MB = 256
// Node reserves about 700 MB of it, and uses a tenth.
const DATA_KB = 1_310_720
const OPEN_FILES = 64

/** True if children get kernel limits, which need a shell. */
export const HAS_RLIMITS = process.platform !== 'win32'

/** Builds the command of a child: kernel limits, bubblewrap if requested, and Node with its permission model. */
export function childCommand({ maxMemory, cpuSeconds, bubblewrap }: ChildBounds): ChildCommand {
  // A bundle holds no code of the child: it runs from the installed package.
  const entry = findEntry('@svc/runtime', import.meta.url)
  if (entry === undefined) throw new RUN_ERR_NOT_INSTALLED('@svc/runtime')
  const own = join(dirname(entry), 'sandbox')
  const manifest = join(dirname(entry), '../package.json')
  const [core, variant] = [esmOf('quickjs-emscripten-core', entry), esmOf(VARIANT, entry)]
  const readable = [own, manifest, ...packagesOf(core, variant)]
  const node = [
    process.execPath,
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${NODE_HEAP_MB}`,
    '--no-warnings',
    ...(process.allowedNodeEnvironmentFlags.has(NO_SQLITE) ? [NO_SQLITE] : []),
    join(own, 'child', `main${extname(entry)}`),
    toUrl(core),
    toUrl(variant),
    String(maxMemory)
  ]
  const limits = { c: 0, f: 0, n: OPEN_FILES, t: cpuSeconds, d: DATA_KB + Math.ceil((4 * maxMemory) / 1024) }
  if (bubblewrap) return withRlimits(['bwrap', ...bubblewrapArgs(readable), ...node], limits)
  // `env -i` drops the variables that the shell sets.
  return withRlimits(HAS_RLIMITS ? ['/usr/bin/env', '-i', ...node] : node, limits)
}

function withRlimits([file = '', ...args]: string[], limits: Record<string, number>): ChildCommand {
  if (!HAS_RLIMITS) return { file, args }
  const set = Object.entries(limits).map(([name, value]) => `ulimit -${name} ${value}`)
  return { file: '/bin/sh', args: ['-c', `${set.join('; ')}; exec "$@"`, 'sh', file, ...args] }
}

// All that the child may read. `lookedUp`: where npm and pnpm may put the dependency that Node resolves.
function packagesOf(core: string, variant: string): string[] {
  const types = resolveFrom(core, TYPES)
  const lookedUp = ancestors(dirname(core)).map((folder) => join(folder, 'node_modules', TYPES))
  return [rootOf(core), rootOf(variant), rootOf(types), ...lookedUp]
}

// Beside the form for `require` is that for `import`.
function esmOf(name: string, entry: string): string {
  return join(dirname(resolveFrom(entry, name)), 'index.mjs')
}

function rootOf(file: string): string {
  return dirname(dirname(realpathSync(file)))
}

function ancestors(folder: string): string[] {
  return folder === parse(folder).root ? [folder] : [folder, ...ancestors(dirname(folder))]
}

function toUrl(path: string): string {
  return pathToFileURL(realpathSync(path)).href
}
