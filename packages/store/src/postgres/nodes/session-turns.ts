import { setTimeout as pause } from 'node:timers/promises'
import type { EndTurn } from '@svc/registry'
import { isPromise, randomId, unlessAborted } from '@svc/registry/kit'
import { KeyedLock, type Release } from '@svc/registry/store-kit'
import { bigintArray, textArray } from '../lane/binary-arrays.ts'
import type { Query, Transact } from '../query.ts'
import type { NodeChannel } from './node-channel.ts'
import type { PostgresLease } from './node-lease.ts'
import { isFirst, TicketBatches, type TakenTicket, type Ticket } from './ticket-batches.ts'

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
  begin(): void
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
    this.#text = `select ord::int from unnest($1::text[], $2::bigint[]) with ordinality as f(session_key, ticket, ord)
      where ${isFirst(host.table, 'f.session_key', 'f.ticket')}`
    this.#kept = `update ${host.table('session_turn')} set node_id = '${NO_NODE}'
      where session_key = $1 and holder = $2 and node_id = $3 and ticket = $4`
    host.channel.on('turn', () => this.#look())
    host.channel.onReconnect(() => this.#look())
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY).unref()
  }

  /** As `SessionStore.place`. */
  async place(sessionKey: string, runId: string): Promise<() => void> {
    const id = `${sessionKey}\n${runId}`
    const taking = this.#take(sessionKey, runId)
    this.#placed.set(id, taking)
    const leave = () => {
      if (this.#placed.get(id) === taking) this.#placed.delete(id)
      else return
      taking.then((ticket) => this.#giveBack(ticket)).catch(() => {})
    }
    await taking.catch((err: unknown) => {
      leave()
      throw err
    })
    return leave
  }

  /** As `SessionStore.lock`. */
  async lock(sessionKey: string, signal: AbortSignal, holder = `-${randomId()}`): Promise<EndTurn> {
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

  async #takeTurn(sessionKey: string, holder: string, signal: AbortSignal): Promise<Ticket> {
    const id = `${sessionKey}\n${holder}`
    const placed = this.#placed.get(id)
    this.#placed.delete(id)
    const ticket = await (placed ?? this.#take(sessionKey, holder))
    try {
      if (!ticket.hasTurn) await this.#wait(ticket, signal)
      signal.throwIfAborted()
      return ticket
    } catch (err) {
      await this.#giveBack(ticket)
      throw err
    }
  }

  async #take(sessionKey: string, holder: string): Promise<TakenTicket> {
    const joined = this.#host.lease.joined()
    return this.#tickets.take(sessionKey, holder, isPromise(joined) ? await joined : joined)
  }

  async #wait(ticket: Ticket, signal: AbortSignal): Promise<void> {
    const { promise, resolve: begin } = Promise.withResolvers<void>()
    const waiter = { ticket, begin }
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
    while (this.#isOutdated) {
      this.#isOutdated = false
      await this.#lookNow()
    }
    this.#isLooking = false
  }

  async #lookNow(): Promise<void> {
    const waiters = [...this.#waiting]
    const rows = await this.#host
      .query<{ ord: number }>('svc turns', this.#text, [
        textArray(waiters.map(({ ticket }) => ticket.sessionKey)),
        bigintArray(waiters.map(({ ticket }) => ticket.ticket))
      ])
      .catch(() => [])
    for (const { ord } of rows) waiters[ord - 1]!.begin()
  }
}
