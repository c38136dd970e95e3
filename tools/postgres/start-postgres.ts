import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { findBinaries, toReadable, UNPRIVILEGED } from './binaries.ts'
import { createData } from './create-data.ts'

/** How to start a server. */
export interface PostgresOptions {
  /** True to survive a power failure; default false, which is faster. */
  readonly durable?: boolean
  /** Settings of the server, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string | number>>
}

/** A server with an empty database, which ends with this process however that dies. */
export interface Postgres {
  /** `postgres://…` of a superuser. */
  readonly url: string
  /** Stops the server and starts it again; `immediate` is a crash, after which it recovers. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
  /** Stops the server, until `resume`. */
  pause(mode: 'fast' | 'immediate'): Promise<void>
  resume(): Promise<void>
  /** Keeps a copy of the files of a server that is paused, for `restore`. */
  backUp(): Promise<void>
  /** Puts the copy back in the place of the files of a server that is paused. */
  restore(): Promise<void>
  /** Stops the server and removes its files. */
  stop(): Promise<void>
}

const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const
const ATTEMPTS = 3
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '32MB',
  io_method: 'sync',
  log_checkpoints: 'off',
  recovery_init_sync_method: 'syncfs'
}
// Waits for the end of its standard input, which is the end of the process that holds it, and then removes the server.
const REAPER = 'read -r _; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 1; rm -rf "$0"'

/** Starts the Postgres that npm brings, in a folder of its own. @throws if npm brought none for this platform, or it does not run here */
export async function startPostgres({
  durable = false,
  settings = {}
}: PostgresOptions = {}): Promise<Postgres> {
  const binaries = findBinaries()
  if (binaries === undefined) throw new Error(`npm has no Postgres for ${process.platform} ${process.arch}`)
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  const owner = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  try {
    if (owner.uid !== undefined) await chown(folder, owner.uid, owner.gid)
    const native = owner.uid === undefined ? binaries : await toReadable(binaries, folder)
    if (native !== binaries) await chmod(folder, 0o755)
    const data = join(folder, 'data')
    const run = { ...owner, cwd: folder, env: { LC_ALL: 'C', PATH: process.env['PATH'], TZ: 'UTC' } }
    await createData(native, data, run)
    const all = { ...SETTINGS, fsync: durable ? 'on' : 'off', ...settings }
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const launch = (port: number) =>
      spawn(join(native, 'bin', 'postgres'), ['-D', data, '-p', String(port), ...flags], {
        ...run,
        stdio: ['ignore', 'ignore', 'pipe']
      })
    return await serve(folder, launch)
  } catch (err) {
    await rm(folder, { recursive: true, force: true })
    throw err
  }
}

async function serve(folder: string, launch: (port: number) => ChildProcess): Promise<Postgres> {
  const { server: first, port } = await launchAnywhere(launch)
  let server = first
  const reaper = process.platform === 'win32' ? undefined : startReaper(folder)
  const pause = async (mode: 'fast' | 'immediate') => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.ref()
    server.kill(SIGNALS[mode])
    await ended
  }
  const resume = async () => {
    server = await whenReady(launch(port))
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pause,
    resume,
    backUp: () => copyFiles(join(folder, 'data'), join(folder, 'copy')),
    restore: () => copyFiles(join(folder, 'copy'), join(folder, 'data')),
    async restart(mode) {
      await pause(mode)
      await resume()
    },
    async stop() {
      await pause('immediate')
      reaper?.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}

async function copyFiles(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await promisify(execFile)('cp', ['-a', from, to])
}

// Another process may take the port first.
async function launchAnywhere(launch: (port: number) => ChildProcess) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      return { server: await whenReady(launch(port)), port }
    } catch (err) {
      if (attempt === ATTEMPTS) throw err
    }
  }
}

/** A free port of this machine, which another process may take. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves once the server accepts connections. @throws its last lines if it ends before */
async function whenReady(server: ChildProcess): Promise<ChildProcess> {
  const last: string[] = []
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: server.stderr! }).on('line', (line) => {
      if (line.includes('is ready to accept connections')) resolve()
      if (last.push(line) > 5) last.shift()
    })
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`Postgres ended: ${last.join('\n')}`)))
  })
  await ready
  // From here on it must not keep this process alive.
  server.unref()
  ;(server.stderr as unknown as { unref(): void }).unref()
  return server
}

function startReaper(folder: string): ChildProcess {
  const reaper = spawn('sh', ['-c', REAPER, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  reaper.unref()
  ;(reaper.stdin as unknown as { unref(): void }).unref()
  return reaper
}
