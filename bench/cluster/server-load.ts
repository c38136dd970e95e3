import { readdirSync, readFileSync } from 'node:fs'
import { Client } from 'pg'

interface Load {
  /** CPU time of all processes of the server, in microseconds. */
  readonly cpu: number
  readonly transactions: number
}

/** What a Postgres on this machine does. */
export class ServerLoad {
  readonly #client: Client
  readonly #postmaster: string
  #last: Load = { cpu: 0, transactions: 0 }

  private constructor(client: Client, postmaster: string) {
    this.#client = client
    this.#postmaster = postmaster
  }

  static async watch(url: string): Promise<ServerLoad> {
    const client = new Client(url)
    await client.connect()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const load = new ServerLoad(client, parentOf(String(rows[0]!.pid))!)
    await load.since()
    return load
  }

  /** What it did since the last call. */
  async since(): Promise<Load> {
    const { rows } = await this.#client.query<{ commits: string }>(
      'select sum(xact_commit) as commits from pg_stat_database'
    )
    const now = { cpu: this.#cpu(), transactions: Number(rows[0]!.commits) }
    const { cpu, transactions } = this.#last
    this.#last = now
    return { cpu: now.cpu - cpu, transactions: now.transactions - transactions }
  }

  /** The connections of all stores. */
  async connections(): Promise<number> {
    const { rows } = await this.#client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where application_name like 'svc%'`
    )
    return rows[0]!.count
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  // Processes that ended are counted in their parent.
  #cpu(): number {
    let ticks = 0
    for (const pid of readdirSync('/proc')) {
      const stat = /^\d+$/.test(pid) ? readStat(pid) : undefined
      if (stat === undefined || !(pid === this.#postmaster || stat.parent === this.#postmaster)) continue
      ticks += stat.ticks + (pid === this.#postmaster ? stat.ofChildren : 0)
    }
    return ticks * 10_000
  }
}

function parentOf(pid: string): string | undefined {
  return readStat(pid)?.parent
}

function readStat(pid: string) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const sum = (first: number) => Number(fields[first]) + Number(fields[first + 1])
    return { parent: fields[1]!, ticks: sum(11), ofChildren: sum(13) }
  } catch {
    return undefined
  }
}
