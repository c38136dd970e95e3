import { setTimeout as pause } from 'node:timers/promises'
import {
  codeOf,
  isPromise,
  randomId,
  unlessAborted,
  type EndTurn,
  type PlacedTurn,
  type TurnPlace
} from '@svc/contract'
import { KeyedLock, type Release } from '@svc/contract/stores'
import { bigintArray, textArray } from '../lane/binary-arrays.ts'
import type { Query, Transact } from '../query.ts'
import type { NodeChannel } from './node-channel.ts'
import type { PostgresLease } from './node-lease.ts'
import { TicketBatches, ticketsBefore, type TakenTicket, type Ticket } from './ticket-batches.ts'

/** What the turns of sessions need. */
export interface TurnHost {
  readonly query: Query
  readonly transact: Transact
  readonly channel: NodeChannel
  readonly lease: Pick<PostgresLease, 'joined'>
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
}

interface Waiter {
  readonly ticket: Ticket
  readonly onPlace: OnPlace | undefined
  begin(): void
  fail(err: unknown): void
}

type OnPlace = (place: TurnPlace) => void

interface PlaceRow {
  before: number
  first: string | null
}

const LOOK_EVERY = 1_000
const RETRY_PAUSE = 500
// A ticket of no node counts while its run is unfinished.
const NO_NODE = ''
// The id of the session would not save the other nodes their query.
const ALL = '*'

/**
 * The turns of sessions, over all nodes: each caller takes a ticket, and the lowest ticket has the turn. A ticket counts while its node
 * lives, or while its holder is an unfinished run, which another node then continues under the same ticket.
 */
export class SessionTurns {
  readonly #host: TurnHost
  readonly #tickets: TicketBatches
  readonly #text: string
  readonly #kept: string
  readonly #places: string
  readonly #forgotten: string
  // Calls for the same holder, one after the other.
  readonly #locks = new KeyedLock()
  readonly #users = new Map<string, number>()
  readonly #held = new Map<string, Ticket>()
  // Tickets of accepted runs that have not asked for their turn.
  readonly #placed = new Map<string, Promise<TakenTicket>>()
  readonly #waiting = new Set<Waiter>()
  readonly #returning = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  readonly #closed = new AbortController()
  #isLooking = false
  #isOutdated = false

  constructor(host: TurnHost) {
    this.#host = host
    this.#tickets = new TicketBatches(host.transact, host.table)
    this.#text = `select f.ord::int, b.before, b.first
      from unnest($1::text[], $2::bigint[]) with ordinality as f(session_key, ticket, ord)
      cross join lateral ${ticketsBefore(host.table, 'f.session_key', 'f.ticket')} b`
    this.#places = `select t.holder as run_id, b.before, b.first
      from unnest($1::text[]) as f(run_id)
      join ${host.table('session_turn')} t on t.holder = f.run_id
      cross join lateral ${ticketsBefore(host.table, 't.session_key', 't.ticket')} b
      where b.before > 0`
    this.#kept = `update ${host.table('session_turn')} set node_id = '${NO_NODE}'
      where session_key = $1 and holder = $2 and node_id = $3 and ticket = $4`
    // Members of a run hold places as "<runId>/…".
    this.#forgotten = `delete from ${host.table('session_turn')} t using unnest($1::text[]) as f(run_id)
      where t.node_id = '${NO_NODE}'
        and (t.holder = f.run_id or (t.holder >= f.run_id || '/' and t.holder < f.run_id || '0'))`
    host.channel.on('turn', () => this.#look())
    host.channel.onReconnect(() => this.#look())
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY).unref()
  }

  /** As `SessionStore.place`. */
  async place(sessionKey: string, runId: string, ifFree = false): Promise<PlacedTurn> {
    const id = `${sessionKey}\n${runId}`
    if (ifFree) {
      const taken = await this.#tickets.take(sessionKey, runId, await this.#host.lease.joined(), true)
      if (taken.ticket === undefined) return { ...toPlace(taken), leave: () => {} }
      this.#placed.set(id, Promise.resolve(taken))
    }
    const taking = this.#placed.get(id) ?? this.#take(sessionKey, runId)
    this.#placed.set(id, taking)
    const leave = () => {
      if (this.#placed.get(id) === taking) this.#placed.delete(id)
      else return
      taking.then((ticket) => this.#giveBack(ticket)).catch(() => {})
    }
    const ticket = await taking.catch((err: unknown) => {
      leave()
      throw err
    })
    return { ...toPlace(ticket), leave }
  }

  /** As `SessionStore.places`. */
  async places(runIds: readonly string[]): Promise<ReadonlyMap<string, TurnPlace>> {
    const values = [textArray(runIds)]
    const rows = await this.#host.query<PlaceRow & { run_id: string }>('svc places', this.#places, values)
    return new Map(rows.map((row) => [row.run_id, toPlace(row)]))
  }

  /** Removes the tickets of runs that were unloaded while they waited, and ended without being loaded again. */
  async forget(runIds: readonly string[]): Promise<void> {
    await this.#host.query('svc forget turns', this.#forgotten, [textArray(runIds)])
  }

  /** As `SessionStore.lock`. */
  async lock(
    sessionKey: string,
    signal: AbortSignal,
    holder = `-${randomId()}`,
    onPlace?: OnPlace
  ): Promise<EndTurn> {
    signal.throwIfAborted()
    const id = `${sessionKey}\n${holder}`
    this.#use(id, 1)
    let next: Release | undefined
    try {
      next = await this.#locks.lock(id, signal)
      const ticket = this.#held.get(id) ?? (await this.#takeTurn(sessionKey, holder, signal, onPlace))
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
  #createRelease(id: string, ticket: Ticket, next: Release): EndTurn {
    let released = false
    return (keep = false) => {
      if (released) return
      released = true
      if (this.#use(id, -1) > 0) return next()
      this.#held.delete(id)
      void this.#giveBack(ticket, keep).finally(() => next())
    }
  }

  #use(id: string, change: 1 | -1): number {
    const users = (this.#users.get(id) ?? 0) + change
    if (users === 0) this.#users.delete(id)
    else this.#users.set(id, users)
    return users
  }

  async #takeTurn(
    sessionKey: string,
    holder: string,
    signal: AbortSignal,
    onPlace: OnPlace | undefined
  ): Promise<Ticket> {
    const id = `${sessionKey}\n${holder}`
    const placed = this.#placed.get(id)
    this.#placed.delete(id)
    const ticket = await (placed ?? this.#take(sessionKey, holder))
    try {
      if (ticket.before > 0) {
        onPlace?.(toPlace(ticket))
        await this.#wait(ticket, signal, onPlace)
      }
      signal.throwIfAborted()
      return ticket
    } catch (err) {
      // The process that continues the run keeps its place.
      await this.#giveBack(ticket, codeOf(err) === 'RUN_ERR_SUSPENDED')
      throw err
    }
  }

  async #take(sessionKey: string, holder: string): Promise<TakenTicket> {
    const joined = this.#host.lease.joined()
    return this.#tickets.take(sessionKey, holder, isPromise(joined) ? await joined : joined)
  }

  async #wait(ticket: Ticket, signal: AbortSignal, onPlace: OnPlace | undefined): Promise<void> {
    const { promise, resolve: begin, reject: fail } = Promise.withResolvers<void>()
    const waiter = { ticket, begin, fail, onPlace }
    this.#waiting.add(waiter)
    // Its turn may have come since the ticket was taken.
    this.#look()
    try {
      await unlessAborted(signal, () => promise)
    } finally {
      this.#waiting.delete(waiter)
    }
  }

  #giveBack(ticket: Ticket, keep = false): Promise<void> {
    const returned = this.#return(ticket, keep)
    this.#returning.add(returned)
    return returned.finally(() => this.#returning.delete(returned))
  }

  // Until it succeeds, since the session has no other turn before.
  async #return(ticket: Ticket, keep: boolean): Promise<void> {
    for (;;) {
      try {
        if (keep) return await this.#keep(ticket)
        const mayWait = await this.#tickets.return(ticket)
        if (mayWait) void this.#host.channel.post('turn', [ALL])
        return this.#look()
      } catch {
        if (this.#closed.signal.aborted) return
        await pause(RETRY_PAUSE, undefined, { signal: this.#closed.signal }).catch(() => {})
      }
    }
  }

  async #keep({ sessionKey, holder, nodeId, ticket }: Ticket): Promise<void> {
    const values = [sessionKey, holder, nodeId, ticket]
    await this.#host.query('svc keep turn', this.#kept, values)
  }

  // A look that is asked for during another one follows it, since that one may have missed the news.
  #look(): void {
    if (this.#waiting.size === 0) return
    this.#isOutdated = true
    if (!this.#isLooking) void this.#lookAgain()
  }

  async #lookAgain(): Promise<void> {
    this.#isLooking = true
    try {
      while (this.#isOutdated) {
        this.#isOutdated = false
        await this.#lookNow()
      }
    } finally {
      this.#isLooking = false
    }
  }

  async #lookNow(): Promise<void> {
    const waiters = [...this.#waiting]
    const rows = await this.#host
      .query<PlaceRow & { ord: number }>('svc turns', this.#text, [
        textArray(waiters.map(({ ticket }) => ticket.sessionKey)),
        bigintArray(waiters.map(({ ticket }) => ticket.ticket))
      ])
      .catch(() => [])
    for (const row of rows) {
      const { begin, fail, onPlace } = waiters[row.ord - 1]!
      try {
        if (row.before === 0) begin()
        else onPlace?.(toPlace(row))
      } catch (err) {
        // Its own fault: those behind it must not wait for it.
        fail(err)
      }
    }
  }
}

function toPlace({ before, first }: { before: number; first?: string | null | undefined }): TurnPlace {
  const active = first?.split('/', 1)[0]
  // Other holders have no runs.
  return { position: before, ...(active && !active.startsWith('-') && { active }) }
}
