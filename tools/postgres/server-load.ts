import { readdirSync, readFileSync } from 'node:fs'
import { Client } from 'pg'

/** Settings of a server whose work is counted. Without images of whole pages the bytes of its log are those of its rows. */
export const COUNTED = {
  shared_preload_libraries: 'pg_stat_statements',
  full_page_writes: 'off',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h'
} as const

/** What a server has done. */
export interface Load {
  /** CPU time of all of its processes, in microseconds. */
  readonly cpu: number
  /** Statements of its clients, without those that begin and end transactions. */
  readonly statements: number
  readonly commits: number
  readonly rollbacks: number
  /** Bytes of write-ahead log. */
  readonly wal: number
  /** Bytes that tables and indexes have grown by. */
  readonly disk: number
  /** Updates of the table `run`. */
  readonly updates: number
  /** Those of which no index had to know. */
  readonly hotUpdates: number
  /** Rows read by scans of whole tables. */
  readonly scanned: number
}

/** How often a statement was executed. */
export interface CountedStatement {
  readonly query: string
  readonly calls: number
  /** Milliseconds in the server, all calls together. */
  readonly time: number
  /** Blocks of tables and indexes that were read, all calls together. */
  readonly blocks: number
}

/** Sessions of other processes add to the views as late as this, in milliseconds, once they are idle. */
export const COUNTS_SETTLE = 11_000

const CONTROL = '^\\s*(begin|start|commit|rollback|savepoint|release|set|show|listen|discard|deallocate)'
const STATEMENTS = `pg_stat_statements s
  where s.query !~* '${CONTROL}' and s.query !~ '/\\* counted \\*/'`
const COUNTS = `select /* counted */
  (select coalesce(sum(s.calls), 0) from ${STATEMENTS}) as statements,
  (select sum(xact_commit) from pg_stat_database) as commits,
  (select sum(xact_rollback) from pg_stat_database) as rollbacks,
  pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
  pg_database_size(current_database()) as disk,
  (select coalesce(sum(n_tup_upd), 0) from pg_stat_user_tables where relname = 'run') as updates,
  (select coalesce(sum(n_tup_hot_upd), 0) from pg_stat_user_tables where relname = 'run') as hot_updates,
  (select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables) as scanned`
const NOTHING: Load = {
  cpu: 0,
  statements: 0,
  commits: 0,
  rollbacks: 0,
  wal: 0,
  disk: 0,
  updates: 0,
  hotUpdates: 0,
  scanned: 0
}

/** Counts what a Postgres on this machine does, which has the settings `COUNTED`. */
export class ServerLoad {
  readonly #client: Client
  readonly #postmaster: string
  #last = NOTHING

  private constructor(client: Client, postmaster: string) {
    this.#client = client
    this.#postmaster = postmaster
  }

  static async watch(url: string): Promise<ServerLoad> {
    const client = new Client(url)
    await client.connect()
    await client.query('create extension if not exists pg_stat_statements')
    const { rows } = await client.query<{ pid: number }>('select /* counted */ pg_backend_pid() as pid')
    const load = new ServerLoad(client, parentOf(String(rows[0]!.pid))!)
    await load.since()
    return load
  }

  /** What it did since the last call; counts of other sessions that are open may come `COUNTS_SETTLE` later. */
  async since(): Promise<Load> {
    const now = await this.#read()
    const last = this.#last
    this.#last = now
    return Object.fromEntries(
      Object.entries(now).map(([name, count]) => [name, count - last[name as keyof Load]])
    ) as unknown as Load
  }

  /** The statements since the last call, the most frequent first; the next call begins anew. */
  async statements(): Promise<CountedStatement[]> {
    const { rows } = await this.#client.query<{ query: string; calls: string; time: number; blocks: string }>(
      `select /* counted */ s.query, s.calls, s.total_exec_time as time, s.shared_blks_hit + s.shared_blks_read as blocks from ${STATEMENTS} order by s.calls desc`
    )
    await this.#client.query('select /* counted */ pg_stat_statements_reset()')
    this.#last = { ...this.#last, statements: 0 }
    return rows.map(({ calls, blocks, ...rest }) => ({
      ...rest,
      calls: Number(calls),
      blocks: Number(blocks)
    }))
  }

  /** The connections of all stores. */
  async connections(): Promise<number> {
    const { rows } = await this.#client.query<{ count: number }>(
      `select /* counted */ count(*)::int as count from pg_stat_activity where application_name like 'svc%'`
    )
    return rows[0]!.count
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  async #read(): Promise<Load> {
    const { rows } = await this.#client.query<Record<string, string>>(COUNTS)
    const [row] = rows
    const of = (name: string) => Number(row![name])
    return {
      cpu: this.#cpu(),
      statements: of('statements'),
      commits: of('commits'),
      rollbacks: of('rollbacks'),
      wal: of('wal'),
      disk: of('disk'),
      updates: of('updates'),
      hotUpdates: of('hot_updates'),
      scanned: of('scanned')
    }
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
