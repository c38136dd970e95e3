import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { randomId } from '@svc/registry/kit'
import { KeyedLock, type Release } from '@svc/registry/store-kit'
import { bigintArray, textArray } from '../lane/binary-arrays.ts'
import type { Query, Transact } from '../query.ts'
import type { NodeChannel } from './node-channel.ts'
import type { PostgresLease } from './node-lease.ts'

/** What the turns of sessions need. */
export interface TurnHost {
  readonly query: Query
  readonly transact: Transact
  readonly channel: NodeChannel
  readonly lease: Pick<PostgresLease, 'joined'>
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
}

interface Ticket {
  readonly sessionKey: string
  readonly holder: string
  readonly nodeId: string
  readonly ticket: number
  hasTurn: boolean
}

interface Waiter {
  readonly ticket: Ticket
  begin(): void
}

const LOOK_EVERY = 1_000
const RETRY_PAUSE = 500
const never = new AbortController().signal

/**
 * The turns of sessions, over all nodes: who asks takes a ticket, and the lowest ticket has the turn. A ticket counts while its node
 * lives, or while its holder is an unfinished run, which another node then continues under the same ticket.
 */
export class SessionTurns {
  readonly #host: TurnHost
  readonly #statements: ReturnType<typeof createStatements>
  // Calls for the same holder, and those that take a ticket of the same session, one after the other.
  readonly #locks = new KeyedLock()
  readonly #users = new Map<string, number>()
  readonly #held = new Map<string, Ticket>()
  readonly #waiting = new Set<Waiter>()
  readonly #returning = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  readonly #closed = new AbortController()
  #isLooking = false
  #isOutdated = false

  constructor(host: TurnHost) {
    this.#host = host
    this.#statements = createStatements(host.table)
    host.channel.on('turn', () => this.#look())
    host.channel.onReconnect(() => this.#look())
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY).unref()
  }

  /** As `SessionStore.lock`. */
  async lock(sessionKey: string, signal: AbortSignal, holder = `-${randomId()}`): Promise<Release> {
    signal.throwIfAborted()
    const id = `${sessionKey}\n${holder}`
    this.#use(id, 1)
    let next: Release | undefined
    try {
      next = await this.#locks.lock(id, signal)
      const ticket = this.#held.get(id) ?? (await this.#takeTurn(sessionKey, holder, signal))
      this.#held.set(id, ticket)
      return this.#createRelease(id, ticket, next)
    } catch (err) {
      this.#use(id, -1)
      next?.()
      throw err
    }
  }

  /** Waits until tickets are returned; no longer for those that cannot be. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closed.abort()
    await Promise.allSettled(this.#returning)
  }

  // The next call of the same holder gets its ticket, so that a run keeps its place.
  #createRelease(id: string, ticket: Ticket, next: Release): Release {
    let released = false
    return () => {
      if (released) return
      released = true
      if (this.#use(id, -1) > 0) return next()
      this.#held.delete(id)
      void this.#giveBack(ticket).finally(() => next())
    }
  }

  #use(id: string, change: 1 | -1): number {
    const users = (this.#users.get(id) ?? 0) + change
    if (users === 0) this.#users.delete(id)
    else this.#users.set(id, users)
    return users
  }

  async #takeTurn(sessionKey: string, holder: string, signal: AbortSignal): Promise<Ticket> {
    const taken = await this.#locks.lock(sessionKey, never)
    let ticket: Ticket
    try {
      ticket = await this.#take(sessionKey, holder)
    } finally {
      taken()
    }
    try {
      if (!ticket.hasTurn) await this.#wait(ticket, signal)
      signal.throwIfAborted()
      return ticket
    } catch (err) {
      await this.#giveBack(ticket)
      throw err
    }
  }

  async #take(sessionKey: string, holder: string): Promise<Ticket> {
    const nodeId = await this.#host.lease.joined()
    const values = [sessionKey, holder, nodeId]
    const { ticket, first } = await this.#transact<{ ticket: number; first: boolean }>(
      sessionKey,
      this.#statements.take,
      values
    )
    return { sessionKey, holder, nodeId, ticket, hasTurn: first }
  }

  #wait(ticket: Ticket, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiter)
        signal.removeEventListener('abort', abort)
      }
      const abort = () => {
        leave()
        reject(signal.reason as Error)
      }
      const begin = () => {
        leave()
        resolve()
      }
      const waiter = { ticket, begin }
      if (signal.aborted) return reject(signal.reason as Error)
      signal.addEventListener('abort', abort)
      this.#waiting.add(waiter)
      // Its turn may have come since the ticket was taken.
      this.#look()
    })
  }

  #giveBack(ticket: Ticket): Promise<void> {
    const returned = this.#return(ticket)
    this.#returning.add(returned)
    return returned.finally(() => this.#returning.delete(returned))
  }

  // Until it succeeds, since the session has no other turn before.
  async #return({ sessionKey, holder, nodeId, ticket }: Ticket): Promise<void> {
    for (;;) {
      try {
        const values = [sessionKey, holder, nodeId, ticket]
        const row = await this.#transact<{ waiting: boolean }>(sessionKey, this.#statements.return, values)
        if (row?.waiting) void this.#host.channel.post('turn', [hashOf(sessionKey).toString(36)])
        return this.#look()
      } catch {
        if (this.#closed.signal.aborted) return
        await pause(RETRY_PAUSE, undefined, { signal: this.#closed.signal }).catch(() => {})
      }
    }
  }

  // Tickets of a session are taken and returned one at a time, so that each sees all lower ones.
  #transact<Row>(sessionKey: string, text: string, values: readonly unknown[]): Promise<Row> {
    return this.#host.transact(async (client) => {
      await client.query(`select pg_advisory_xact_lock(${hashOf(sessionKey)})`)
      const { rows } = await client.query(text, [...values])
      return rows[0] as Row
    })
  }

  // A look that is asked for during another one follows it, since that one may have missed the news.
  #look(): void {
    if (this.#waiting.size === 0) return
    this.#isOutdated = true
    if (!this.#isLooking) void this.#lookAgain()
  }

  async #lookAgain(): Promise<void> {
    this.#isLooking = true
    while (this.#isOutdated) {
      this.#isOutdated = false
      await this.#lookNow()
    }
    this.#isLooking = false
  }

  async #lookNow(): Promise<void> {
    const waiters = [...this.#waiting]
    const rows = await this.#host
      .query<{ ord: number }>('svc turns', this.#statements.look, [
        textArray(waiters.map(({ ticket }) => ticket.sessionKey)),
        bigintArray(waiters.map(({ ticket }) => ticket.ticket))
      ])
      .catch(() => [])
    for (const { ord } of rows) waiters[ord - 1]!.begin()
  }
}

function createStatements(table: (name: string) => string) {
  const turn = table('session_turn')
  const isFirst = (sessionKey: string, ticket: string) => `not exists (
      select from ${turn} o where o.session_key = ${sessionKey} and o.ticket < ${ticket} and (
        exists (select from ${table('node')} n where n.node_id = o.node_id)
        or exists (select from ${table('run')} r where r.run_id = split_part(o.holder, '/', 1) and r.ended_at is null)))`
  return {
    take: `insert into ${turn} as t (session_key, ticket, holder, node_id)
      select $1::text, coalesce(max(ticket), 0) + 1, $2::text, $3::text from ${turn} where session_key = $1
      on conflict (session_key, holder) do update set node_id = excluded.node_id
      returning ticket, ${isFirst('t.session_key', 't.ticket')} as first`,
    return: `delete from ${turn} t where session_key = $1 and holder = $2 and node_id = $3 and ticket = $4
      returning exists (select from ${turn} o where o.session_key = t.session_key and o.ticket <> t.ticket) as waiting`,
    look: `select ord::int from unnest($1::text[], $2::bigint[]) with ordinality as f(session_key, ticket, ord)
      where ${isFirst('f.session_key', 'f.ticket')}`
  }
}

// A key may have any length, the key of an advisory lock has 64 bits.
function hashOf(sessionKey: string): bigint {
  return createHash('sha256').update(sessionKey).digest().readBigInt64BE()
}
