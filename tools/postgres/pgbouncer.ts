import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { UNPRIVILEGED } from './binaries.ts'
import { freePort } from './start-postgres.ts'

/** A pooler in front of a database, which ends with this process however that dies. */
export interface Pooler {
  /** The URL of the database by way of the pooler. */
  readonly url: string
  /** Stops it and removes its files. */
  stop(): Promise<void>
}

// Runs it until the end of standard input, which is the end of the process that holds it.
const KEEPER = `PATH="$PATH:/usr/sbin:/usr/local/sbin" pgbouncer "$0/pgbouncer.ini" & exec 2>&-; read -r _; kill -INT $!; wait; rm -rf "$0"`

/**
 * Starts the PgBouncer of this machine in transaction mode, for clients that it trusts.
 * @param connections those that it opens to the server
 * @throws if the machine has none
 */
export async function startPgBouncer(url: string, connections: number): Promise<Pooler> {
  const { hostname, port: serverPort, username, pathname } = new URL(url)
  const folder = await mkdtemp(join(tmpdir(), 'svc-pgbouncer-'))
  const port = await freePort()
  const users = join(folder, 'users.txt')
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(users, `"${username}" ""\n`)
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 500
`
  )
  // It refuses to run as root.
  const owner = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  if (owner.uid !== undefined)
    for (const each of [folder, users, file]) await chown(each, owner.uid, owner.gid)
  const keeper = spawn('sh', ['-c', KEEPER, folder], {
    ...owner,
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe']
  })
  const stop = async () => {
    const ended = once(keeper, 'close')
    keeper.ref()
    keeper.stdin.end()
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  const lines: string[] = []
  const output = createInterface({ input: keeper.stderr })
  const isUp = await new Promise<boolean>((resolve) => {
    output.on('line', (line) => {
      lines.push(line)
      if (line.includes('process up')) resolve(true)
    })
    output.once('close', () => resolve(false))
  })
  if (!isUp) {
    await stop()
    throw new Error(lines.join('\n'))
  }
  output.removeAllListeners('line')
  keeper.unref()
  for (const stream of [keeper.stdin, keeper.stderr]) (stream as unknown as { unref(): void }).unref()
  return { url: `postgres://${username}@127.0.0.1:${port}${pathname}`, stop }
}
