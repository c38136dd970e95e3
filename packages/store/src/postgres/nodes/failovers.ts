import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import type { LocalLogs } from '../../runs/local-logs.ts'
import { textArray } from '../lane/binary-arrays.ts'
import { limitIdle } from '../query.ts'

/** What is needed to notice that a database has lost commits. */
export interface FailoversHost {
  readonly logs: Pick<LocalLogs, 'written' | 'forget'>
  readonly schema: string
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
  /** The id under which this process has its runs; empty before it joined. */
  readonly nodeId: () => string
}

/** What a process knows of the server that it has its data on. */
interface Server {
  /** Its system and its timeline, which a promotion and a restore to a point in time change. */
  readonly id: string
  /** How far its write-ahead log is on disk: a crash may lose what follows. */
  readonly end: number
}

interface Failover {
  readonly place: number
  readonly server: string
  readonly lost: boolean
}

// Numbers are skipped so that no part gets one that a lost part had: more than a run or a session can have got meanwhile.
const SKIP = '1000000 + floor(random() * 1000000)::int'
// Milliseconds between two looks at the same runs, one of which may have changed hands during a look.
const LOOK_AGAIN = 300
// Of servers that have no such functions, as some services that are Postgres only by their protocol.
const UNSUPPORTED = new Set(['42883', '42501', '0A000'])

/**
 * Notices on each new connection that the tables are on another server, or in an earlier state, as after a failover or a restore. Runs that
 * another node takes over then continue under later numbers, and so do sessions. If acknowledged parts of this node's runs are missing, no
 * node may continue from what it has in memory: all are declared dead, and join again.
 */
export class Failovers {
  readonly #host: FailoversHost
  #last: Promise<void> = Promise.resolve()
  #server: Server | undefined
  #place = 0
  #isSupported = true

  constructor(host: FailoversHost) {
    this.#host = host
  }

  /** SQL of the end of the server's log on disk; null where the server does not tell it. */
  get end(): string {
    return this.#isSupported ? `pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::float8` : 'null::float8'
  }

  /** The end of the server's log at a later time. */
  reached(end: number | null): void {
    if (this.#server !== undefined && end !== null)
      this.#server = { ...this.#server, end: Math.max(end, this.#server.end) }
  }

  /** To be called on a new connection, before anything is written on it. @throws the database's error */
  look(client: Client): Promise<void> {
    const looked = this.#last.then(() => this.#look(client))
    this.#last = looked.catch(() => {})
    return looked
  }

  async #look(client: Client): Promise<void> {
    const server = await this.#identify(client)
    if (server === undefined) return
    const before = this.#server
    const isEarlier = before !== undefined && (before.id !== server.id || server.end < before.end)
    const known = this.#place
    const last = await this.#locked(client, async () => {
      const latest = await this.#latest(client)
      if (latest !== undefined && latest.server === server.id && !(isEarlier && latest.place === known))
        return latest
      if (latest !== undefined) await this.#skip(client)
      return this.#add(client, server, false)
    })
    this.#place = last.place
    const isDeclared = last.lost && last.place > known
    if (!isDeclared && (await this.#isBehind(client, isEarlier))) await this.#declareLost(client, server)
    this.#server = server
  }

  // Undefined for a standby, which takes no writes, and where the server does not tell.
  async #identify(client: Client): Promise<Server | undefined> {
    if (!this.#isSupported) return undefined
    try {
      const { rows } =
        await client.query<Server>(`select server.* from (select 1 where not pg_is_in_recovery()) is_primary,
        lateral (select (select system_identifier from pg_control_system()) || ' ' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
          as id, ${this.end} as "end") server`)
      return rows[0]
    } catch (err) {
      if (!UNSUPPORTED.has((err as { code?: string }).code ?? '')) throw err
      this.#isSupported = false
      return undefined
    }
  }

  async #locked<T>(client: Client, work: () => Promise<T>): Promise<T> {
    // Each new connection of each node waits for the lock.
    await client.query(`begin; ${limitIdle(3)}`)
    try {
      await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
        `svc failover ${this.#host.schema}`
      ])
      const value = await work()
      await client.query('commit')
      return value
    } catch (err) {
      await client.query('rollback').catch(() => {})
      throw err
    }
  }

  async #latest(client: Client): Promise<Failover | undefined> {
    const text = `select place, server, lost from ${this.#host.table('failover')} order by place desc limit 1`
    return (await client.query<Failover>(text)).rows[0]
  }

  async #add(client: Client, server: Server, lost: boolean): Promise<Failover> {
    const failover = this.#host.table('failover')
    const text = `insert into ${failover} (server, lost, least_ordinal)
      select $1, $2, coalesce(max(least_ordinal) + ${SKIP}, 0) from ${failover} returning place, server, lost`
    return (await client.query<Failover>(text, [server.id, lost])).rows[0]!
  }

  // The log of a run that waits in the queue has no writer; that of any other skips numbers when another node takes it over.
  async #skip(client: Client): Promise<void> {
    const [run, part] = [this.#host.table('run'), this.#host.table('run_part')]
    await client.query(
      `with r as (update ${run} set restored = epoch > 0
          where run_id in (select run_id from ${this.#host.table('run_open')}) returning run_id, epoch)
      ${insertSkip(part, 'r where r.epoch = 0')}`
    )
  }

  async #declareLost(client: Client, server: Server): Promise<void> {
    const { table, logs } = this.#host
    const known = this.#place
    const last = await this.#locked(client, async () => {
      const latest = await this.#latest(client)
      if (latest!.place !== known) return latest!
      // No node may write what it has in memory.
      await client.query(
        `update ${table('run')} set restored = true, epoch = epoch + 1, node_id = null
          where run_id in (select run_id from ${table('run_open')} where epoch > 0)`
      )
      await client.query(`delete from ${table('node')}`)
      return this.#add(client, server, true)
    })
    this.#place = last.place
    logs.forget()
  }

  // Twice, since a run may change hands meanwhile.
  async #isBehind(client: Client, isEarlier: boolean): Promise<boolean> {
    const first = await this.#findBehind(client, isEarlier)
    if (first.size === 0) return false
    await pause(LOOK_AGAIN)
    const again = await this.#findBehind(client, isEarlier)
    return [...first].some((runId) => again.has(runId))
  }

  // The runs of this node of which the database has less than it has acknowledged, unless another node has taken them. In an earlier state
  // also those that it does not have at all, and those that this node has ended or given up.
  async #findBehind(client: Client, isEarlier: boolean): Promise<Set<string>> {
    const { table, logs, nodeId } = this.#host
    const ids = textArray([...logs.written().keys()])
    const { rows } = await client.query<{ run_id: string; own: boolean; seq: number }>(
      `select run_id, node_id is not distinct from $1 as own,
         coalesce((select max(seq) from ${table('run_part')} p where p.run_id = r.run_id), 0) as seq
       from ${table('run')} r where run_id in (
         select unnest($2::text[]) union select run_id from ${table('run_open')} where node_id = $1 and epoch > 0)`,
      [nodeId(), ids]
    )
    const written = logs.written()
    const unknown = isEarlier ? Infinity : 0
    const behind = rows.filter(({ run_id: runId, own, seq }) => own && seq < (written.get(runId) ?? unknown))
    const stored = new Set(rows.map((row) => row.run_id))
    const missing = isEarlier ? [...written].filter(([runId, seq]) => seq > 0 && !stored.has(runId)) : []
    return new Set([...behind.map((row) => row.run_id), ...missing.map(([runId]) => runId)])
  }
}

/**
 * A statement that lets logs continue under later numbers, after a part that says so.
 * @param runs what it selects from, with `run_id`
 */
export function insertSkip(part: string, runs: string): string {
  return `insert into ${part} (run_id, seq, json)
    select run_id, seq, '{"seq":' || seq || ',"type":"data","at":' || (extract(epoch from clock_timestamp()) * 1000)::bigint
      || ',"name":"failover","value":null}'
    from (select r.run_id, (select max(p.seq) + ${SKIP} from ${part} p where p.run_id = r.run_id) as seq from ${runs}) s
    where seq is not null`
}
