import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { RUN_FORMAT, unlessAborted, within, type Awaitable, type NodeLease } from '@svc/contract'
import type { Client } from 'pg'
import { PATIENCE } from '../../commit.ts'
import { STO_ERR_CLOSED } from '../../errors.ts'
import type { Failovers } from './failovers.ts'
import { Connection, type Connect, type NodeChannel } from './node-channel.ts'
import { toStoreError, type Query } from '../query.ts'

/** What a lease needs. */
export interface LeaseHost {
  /** Opens a connection whose queries time out early enough for another attempt. */
  readonly connect: Connect
  readonly channel: NodeChannel
  readonly query: Query
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
  readonly failovers: Pick<Failovers, 'look' | 'end' | 'reached'>
  /** A run was given up: another node writes its log from now on. */
  readonly onReleased: (runId: string) => void
  /** Milliseconds without contact after which other nodes declare this one dead. */
  readonly ttl: number
  /** Milliseconds between two contacts. */
  readonly beat: number
}

/** What others have asked of this node's runs, if it may have missed their messages. */
export interface Requests {
  /** Runs to be canceled. */
  readonly cancels: readonly string[]
  /** Answered inputs of runs that wait. */
  readonly answers: readonly string[]
}

interface Beat {
  /** The database's clock, in milliseconds. */
  now: number
  alive: boolean
  /** True if no node is of a release that has no formats. */
  current: boolean
  removed: number
  /** Milliseconds until a node whose connection is closed counts as dead; null if there is none. */
  due: number | null
  /** Of the server's log; null if it is not known. */
  end: number | null
  cancels: string[]
  answers: string[]
}

const LONGEST_MARGIN = 2_000
const RETRY_PAUSE = 250
// A node whose connection is closed has so many milliseconds after a beat that it missed, to be back.
const RETURNS_WITHIN = 1_000
// Beats between two reads of requests, which go through all unfinished runs of the node. The first beat of a new connection reads them too.
const REQUESTS_EVERY = 4

/**
 * A node's row says when it was last seen, by the database's clock, and which lock its channel holds. A node that finds the row of another
 * outdated removes it, and only then are the runs of that node left; a row that was removed never comes back. Once that lock is free, and the one
 * that the connections of the lease and of the lane share, as the process or all three are gone, the row is outdated earlier: a slow process to
 * which the server has closed some of them has the time of its lease.
 */
export class PostgresLease implements NodeLease {
  readonly #host: LeaseHost
  readonly #connection: Connection
  readonly #lost = new Set<() => Awaitable<void>>()
  readonly #left = new Set<() => void>()
  readonly #onRequests = new Set<(requests: Requests) => void>()
  readonly #stopped = new AbortController()
  #waiting = Promise.withResolvers<void>()
  #nodeId = ''
  #hasJoined = false
  #areAllCurrent = false
  // Why the last contact failed.
  #fault: unknown
  // When the last successful contact began, by the monotonic clock.
  #seenAt = -Infinity
  // The database's clock less the monotonic one, which is never set; until the first contact, that of this process.
  #offset = Date.now() - performance.now()
  // The first and the last of the contacts without a break between them, by the database's clock.
  #contact: { since: number; last: number } | undefined
  // Since requests were last read.
  #beats = 0
  // Ends the pause before the next contact.
  #hurry = new AbortController()
  // As of the last contact.
  #lockKey: string | undefined
  #working: Promise<void> | undefined
  #leaving: Promise<void> | undefined

  constructor(host: LeaseHost) {
    this.#host = host
    this.#connection = new Connection(host.connect, (client) => this.#opened(client))
    host.channel.on('left', () => this.#notifyLeft())
    host.channel.onReconnect(() => {
      this.#beats = 0
      this.#notifyLeft()
      // The row of this node names the lock of the connection before.
      this.#hurry.abort()
    })
    this.#working = this.#keep()
  }

  /** The id under which this process has its runs; empty before it joined for the first time. */
  get nodeId(): string {
    return this.#nodeId
  }

  /** True if all nodes, as of the last contact, say which format they know: those of earlier releases read one part from a row. */
  get areAllCurrent(): boolean {
    return this.#areAllCurrent
  }

  /** The id under which this process has new runs, once it has joined. @throws why it could not, after 5 seconds */
  joined(): Awaitable<string> {
    return this.#hasJoined ? this.#nodeId : this.#whenJoined()
  }

  get held(): boolean {
    const { ttl, channel } = this.#host
    const isFree = this.#lockKey !== undefined && this.#lockKey !== channel.lockKey
    const limit = isFree && !channel.isRestarting ? graceOf(this.#host) - RETURNS_WITHIN / 2 : ttl
    return performance.now() - this.#seenAt < Math.min(limit, ttl - Math.min(LONGEST_MARGIN, ttl / 5))
  }

  async whenHeld(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    while (!this.held) await unlessAborted(signal, () => this.#waiting.promise)
  }

  now(): number {
    return Math.round(this.#offset + performance.now())
  }

  onLost(listener: () => Awaitable<void>): () => void {
    this.#lost.add(listener)
    return () => this.#lost.delete(listener)
  }

  onLeft(listener: () => void): () => void {
    this.#left.add(listener)
    return () => this.#left.delete(listener)
  }

  /** Calls the listener with the requests that a beat finds, in case a notification was lost. */
  onRequests(listener: (requests: Requests) => void): void {
    this.#onRequests.add(listener)
  }

  async release(runId: string): Promise<void> {
    const { query, table, channel } = this.#host
    const text = `update ${table('run')} set node_id = null
      where run_id = $1 and node_id = $2 and ended_at is null returning run_id`
    const released = await query('svc release', text, [runId, this.#nodeId])
    if (released.length === 0) return
    this.#host.onReleased(runId)
    await channel.post('left', [this.#nodeId])
  }

  leave(): Promise<void> {
    return (this.#leaving ??= this.#leave())
  }

  async #whenJoined(): Promise<string> {
    const until = performance.now() + PATIENCE
    while (!this.#hasJoined) {
      if (performance.now() >= until || this.#stopped.signal.aborted)
        throw toStoreError(this.#fault ?? new STO_ERR_CLOSED())
      await within(RETRY_PAUSE, this.#waiting.promise)
    }
    return this.#nodeId
  }

  async #leave(): Promise<void> {
    this.#stopped.abort()
    await this.#working
    this.#seenAt = -Infinity
    try {
      const client = await this.#connection.get()
      const left = `delete from ${this.#host.table('node')} where node_id = $1`
      await client.query(left, [this.#nodeId])
      await this.#host.channel.post('left', [this.#nodeId])
    } catch {
      // Others find its row outdated.
    }
    await this.#connection.close()
  }

  async #keep(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#hurry = new AbortController()
      const signal = AbortSignal.any([this.#stopped.signal, this.#hurry.signal])
      const wait = (await this.#contactOnce()) ?? Math.min(RETRY_PAUSE, this.#host.beat)
      await pause(wait, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  // Milliseconds until the next contact; undefined if it failed and should be tried again soon.
  async #contactOnce(): Promise<number | undefined> {
    const begun = performance.now()
    try {
      if (!this.#hasJoined) await this.#join()
      const { lockKey } = this.#host.channel
      const found = await this.#sendBeat(lockKey)
      if (!found.alive) {
        await this.#rejoin()
        return undefined
      }
      this.#seen(begun, found)
      this.#lockKey = lockKey
      return Math.min(this.#host.beat, found.due ?? Infinity)
    } catch (err) {
      this.#fault = err
      this.#contact = undefined
      this.#connection.drop()
      return undefined
    }
  }

  // Contacts need not wait for the disk: what they write is with the next commit that does.
  async #opened(client: Client): Promise<void> {
    await this.#host.failovers.look(client)
    client.on('end', () => {
      if (this.#contact !== undefined) this.#hurry.abort()
    })
    await client.query('set synchronous_commit = off')
    if (this.#hasJoined) await showAlive(client, this.#nodeId)
  }

  async #join(): Promise<void> {
    const client = await this.#connection.get()
    // Short, since each run has it in several rows: 72 random bits.
    const nodeId = randomBytes(9).toString('base64url')
    await showAlive(client, nodeId)
    const node = `insert into ${this.#host.table('node')} (node_id, format) values ($1, $2)`
    await client.query(node, [nodeId, RUN_FORMAT])
    this.#nodeId = nodeId
    this.#hasJoined = true
  }

  async #rejoin(): Promise<void> {
    this.#seenAt = -Infinity
    this.#contact = undefined
    this.#hasJoined = false
    await Promise.allSettled([...this.#lost].map(async (listener) => listener()))
    void this.#host.channel.post('left', [this.#nodeId])
  }

  async #sendBeat(lockKey: string | undefined): Promise<Beat> {
    const { ttl, beat } = this.#host
    const client = await this.#connection.get()
    const { since = null, last = null } = this.#contact ?? {}
    const readsRequests = this.#beats === 0
    const { rows } = await client.query<Beat>(beatText(this.#host), [
      this.#nodeId,
      ttl,
      beat,
      since,
      last,
      readsRequests,
      lockKey ?? null,
      graceOf(this.#host)
    ])
    this.#beats = (this.#beats + 1) % REQUESTS_EVERY
    return rows[0]!
  }

  #seen(begun: number, { now, current, removed, end, cancels, answers }: Beat): void {
    this.#areAllCurrent = current
    const contact = this.#contact
    const { beat, channel, failovers } = this.#host
    failovers.reached(end)
    const isUnbroken = contact !== undefined && now - contact.last < 2 * beat
    this.#contact = { since: isUnbroken ? contact.since : now, last: now }
    this.#seenAt = begun
    this.#offset = now - (begun + performance.now()) / 2
    this.#waiting.resolve()
    this.#waiting = Promise.withResolvers()
    if (removed > 0) {
      void channel.post('left', [this.#nodeId])
      this.#notifyLeft()
    }
    if (cancels.length > 0 || answers.length > 0)
      for (const listener of this.#onRequests) listener({ cancels, answers })
  }

  #notifyLeft(): void {
    for (const listener of this.#left) listener()
  }
}

// The number of the lock by which connections show that the process of a node has not ended.
const lockOf = (nodeId: string) => `hashtextextended('svc node ' || ${nodeId}, 0)`

/** As long as the connection is open, the process of the node is not taken for killed. */
export async function showAlive(client: Client, nodeId: string): Promise<void> {
  await client.query(`select pg_advisory_lock_shared(${lockOf('$1')})`, [nodeId])
}

// Milliseconds after which a node whose connections are closed counts as dead.
function graceOf({ ttl, beat }: LeaseHost): number {
  return Math.min(ttl, beat + RETURNS_WITHIN)
}

// A node that was out of contact itself may not judge others, which need time to renew after an outage: it declares them dead only if it
// has had contact for two beats without a break of two. It tries the locks of those that may be dead before its next beat, for the time of
// the statement; locks that a restart of the server has freed say nothing.
function beatText({ table, failovers }: LeaseHost): string {
  return `with b as (update ${table('node')} set seen_at = clock_timestamp(), lock_key = $7::bigint where node_id = $1 returning seen_at),
    s as materialized (select n.node_id, t.silent,
        coalesce(case when t.silent > $8::float8 - $3::float8 and n.seen_at > pg_postmaster_start_time()
          then pg_try_advisory_xact_lock_shared(n.lock_key) and pg_try_advisory_xact_lock(${lockOf('n.node_id')}) end, false) as closed
      from ${table('node')} n, b, lateral (select ${ms('b.seen_at - n.seen_at')} as silent) t
      where n.node_id <> $1
      and ${ms('b.seen_at')} - $4::float8 >= 2 * $3::float8 and ${ms('b.seen_at')} - $5::float8 < 2 * $3::float8),
    o as (select node_id from ${table('node')} join s using (node_id)
      where s.silent > case when s.closed then $8::float8 else $2::float8 end for update of node skip locked),
    d as (delete from ${table('node')} n using o where n.node_id = o.node_id returning n.node_id),
    w as (select o.run_id, r.status, r.cancel_at from ${table('run_open')} o
      cross join lateral (select r.status, r.cancel_at from ${table('run')} r where r.run_id = o.run_id limit 1) r
      where $6::boolean and o.node_id = $1 and (r.cancel_at is not null or r.status = 'input-required'))
    select coalesce((select ${ms('seen_at')} from b), 0) as now, exists (select from b) as alive,
      not exists (select from ${table('node')} where format is null) as current,
      (select count(*)::int from d) as removed, ${failovers.end} as "end",
      (select ceil($8::float8 - max(silent)) + 1 from s where closed and silent <= $8::float8) as due,
      array(select run_id from w where cancel_at is not null) as cancels,
      array(select i.input_id from w join ${table('run_input')} i using (run_id)
        where w.status = 'input-required' and i.answer is not null) as answers`
}

function ms(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::float8`
}
