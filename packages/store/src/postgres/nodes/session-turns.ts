import { setTimeout as pause } from 'node:timers/promises'
import {
  codeOf,
  isPromise,
  randomId,
  sessionKeyText,
  unlessAborted,
  type EndTurn,
  type PlacedTurn,
  type SessionKey,
  type TurnPlace
} from '@svc/contract'
import { KeyedLock, type Release } from '@svc/contract/stores'
import { bigintArray, textArray } from '../lane/binary-arrays.ts'
import {
  toEnteredSession,
  type Accepted,
  type Append,
  type EnteredSession,
  type RunWrite,
  type RunWriter,
  type SessionEntry,
  type Ticket
} from '../../runs/run-write.ts'
import type { Query } from '../query.ts'
import type { NodeChannel } from './node-channel.ts'
import type { PostgresLease } from './node-lease.ts'
import { NO_NODE, ticketsBefore, type TableName } from './tickets.ts'

/** What the turns of sessions need. */
export interface TurnHost {
  readonly query: Query
  /** Takes tickets, and returns them, with what else the runs write. */
  readonly writer: RunWriter
  readonly entry: Pick<SessionEntry, 'changed'>
  readonly channel: NodeChannel
  readonly lease: Pick<PostgresLease, 'joined'>
  readonly table: TableName
}

/** How many tickets that count are before one, and who holds the first one of these. */
interface TicketPlace {
  readonly before: number
  readonly first?: string | null
}

/** The place of an accepted run. */
interface OwnPlace {
  readonly ticket: TakenTicket
  /** True once the end of the run is stored. */
  hasEnded: boolean
}

/** A ticket that was just taken. */
interface TakenTicket extends Ticket, TicketPlace {
  /** As in `PlacedTurn`. */
  readonly entered: boolean
}

/** No ticket was taken: the session is busy, or the run was not created. */
interface Refusal extends TicketPlace {
  readonly ticket: undefined
}

interface Waiter {
  readonly ticket: Ticket
  readonly onPlace: OnPlace | undefined
  begin(): void
  fail(err: unknown): void
}

type OnPlace = (place: TurnPlace) => void

const LOOK_EVERY = 1_000
const RETRY_PAUSE = 500
// The id of the session would not save the other nodes their query.
const ALL = '*'

/**
 * The turns of sessions, over all nodes: each caller takes a ticket, and the lowest ticket has the turn. A ticket counts while its node
 * lives, or while its holder is an unfinished run, which another node then continues under the same ticket. The place of an accepted run
 * goes with the write that ends it, which passes here; a runnable that is still at work then gives it back later.
 */
export class SessionTurns implements RunWriter {
  readonly #host: TurnHost
  readonly #text: string
  readonly #kept: string
  readonly #places: string
  readonly #forgotten: string
  // Calls for the same holder, one after the other.
  readonly #locks = new KeyedLock()
  readonly #users = new Map<string, number>()
  // By holders and sessions.
  readonly #held = new Map<string, Map<string, Ticket>>()
  // Tickets of accepted runs that have not asked for their turn.
  readonly #placed = new Map<string, Promise<TakenTicket | Refusal>>()
  // By the ids of runs that this process has.
  readonly #own = new Map<string, OwnPlace>()
  readonly #waiting = new Set<Waiter>()
  readonly #returning = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  readonly #closed = new AbortController()
  #isLooking = false
  #isOutdated = false

  constructor(host: TurnHost) {
    this.#host = host
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
  async place(key: SessionKey, runId: string, ifFree = false): Promise<PlacedTurn> {
    const sessionKey = sessionKeyText(key)
    const id = `${sessionKey}\n${runId}`
    const taking =
      this.#placed.get(id) ?? this.#take(sessionKey, runId, ifFree, toEnteredSession(sessionKey, key))
    this.#placed.set(id, taking)
    const forget = () => this.#placed.get(id) === taking && this.#placed.delete(id)
    try {
      const taken = await taking
      if (taken.ticket === undefined) {
        forget()
        return { ...toPlace(taken), leave: () => {} }
      }
      const { entered } = taken
      if (entered) this.#host.entry.changed(sessionKey)
      if (this.#own.get(runId)?.ticket !== taken) this.#own.set(runId, { ticket: taken, hasEnded: false })
      const leave = (keep = false) => {
        const isUnused = forget()
        if (keep ? isUnused : this.#own.get(runId)?.hasEnded === false) void this.#giveBack(taken, keep)
      }
      return { ...toPlace(taken), entered, leave }
    } catch (err) {
      forget()
      throw err
    }
  }

  /** Writes to logs: the place of a run that ends goes with the same write. */
  async write(write: RunWrite): Promise<Accepted | undefined> {
    if (write.kind !== 'append' || !write.change?.endedAt) return this.#host.writer.write(write)
    return this.#end(write)
  }

  async #end(write: Append): Promise<Accepted | undefined> {
    const { runId } = write
    const own = this.#own.get(runId)
    const isHeld = this.#held.has(runId)
    if (own === undefined && !isHeld) return this.#host.writer.write(write)
    const place = { sessionKey: own?.ticket.sessionKey, isHeld }
    const ended = await this.#host.writer.write({ ...write, place })
    if (own === undefined) return ended
    own.hasEnded = true
    if (isHeld && ended !== undefined) {
      if (this.#heldOf(own.ticket) === undefined) void this.#giveBack(own.ticket)
      return ended
    }
    if (this.#own.get(runId) === own) this.#own.delete(runId)
    // Otherwise another process has the run, and its place.
    if (ended !== undefined) this.#freed(ended)
    return ended
  }

  #heldOf({ holder, sessionKey }: Pick<Ticket, 'holder' | 'sessionKey'>): Ticket | undefined {
    return this.#held.get(holder)?.get(sessionKey)
  }

  #hold(ticket: Ticket): void {
    const { holder, sessionKey } = ticket
    this.#held.set(holder, (this.#held.get(holder) ?? new Map()).set(sessionKey, ticket))
  }

  #letGo({ holder, sessionKey }: Ticket): void {
    const tickets = this.#held.get(holder)
    tickets?.delete(sessionKey)
    if (tickets?.size === 0) this.#held.delete(holder)
  }

  #freed({ waiting }: Accepted): void {
    if (waiting ?? true) void this.#host.channel.post('turn', [ALL])
    this.#look()
  }

  /** As `SessionStore.places`. */
  async places(runIds: readonly string[]): Promise<ReadonlyMap<string, TurnPlace>> {
    const values = [textArray(runIds)]
    const rows = await this.#host.query<TicketPlace & { run_id: string }>('svc places', this.#places, values)
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
      const held = this.#heldOf({ holder, sessionKey })
      const ticket = held ?? (await this.#takeTurn(sessionKey, holder, signal, onPlace))
      this.#hold(ticket)
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
      this.#letGo(ticket)
      if (!keep && this.#endsWithRun(ticket)) return next()
      void this.#giveBack(ticket, keep).finally(() => next())
    }
  }

  /** True if the end of the run that has the place will free it. */
  #endsWithRun({ isOfRun, holder }: Ticket): boolean {
    return isOfRun && this.#own.get(holder)?.hasEnded !== true
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
    const placing = this.#placed.get(id)
    this.#placed.delete(id)
    const placed = await placing
    const ticket = placed?.ticket === undefined ? await this.#ticketOf(sessionKey, holder) : placed
    try {
      if (ticket.before > 0) {
        onPlace?.(toPlace(ticket))
        await this.#wait(ticket, signal, onPlace)
      }
      signal.throwIfAborted()
      return ticket
    } catch (err) {
      // The process that continues the run keeps its place.
      const keep = codeOf(err) === 'RUN_ERR_SUSPENDED'
      if (keep || !this.#endsWithRun(ticket)) await this.#giveBack(ticket, keep)
      throw err
    }
  }

  // A run that takes its turn again has its place.
  async #ticketOf(sessionKey: string, holder: string): Promise<TakenTicket> {
    const own = this.#own.get(holder)?.ticket
    if (own?.sessionKey === sessionKey) return own
    const taken = await this.#take(sessionKey, holder)
    if (taken.ticket === undefined) throw new Error(`${holder} was given no place`)
    return taken
  }

  // At once, so that a place is in the batch of the creation of its run.
  async #take(
    sessionKey: string,
    holder: string,
    ifFree = false,
    row?: EnteredSession
  ): Promise<TakenTicket | Refusal> {
    const joined = this.#host.lease.joined()
    const nodeId = isPromise(joined) ? await joined : joined
    const write = { kind: 'place', runId: holder, sessionKey, nodeId, ifFree, row } as const
    const { ticket, before = 0, first, entered = false } = (await this.#host.writer.write(write)) ?? {}
    const place = { before, first: first ?? null }
    return typeof ticket === 'number'
      ? { sessionKey, holder, nodeId, ticket, isOfRun: row !== undefined, entered, ...place }
      : { ticket: undefined, ...place }
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
        const runId = ticket.holder.split('/', 1)[0]!
        const left = await this.#host.writer.write({ kind: 'leave', runId, ticket })
        if (left !== undefined) this.#forget(ticket)
        return this.#freed(left ?? {})
      } catch {
        if (this.#closed.signal.aborted) return
        await pause(RETRY_PAUSE, undefined, { signal: this.#closed.signal }).catch(() => {})
      }
    }
  }

  async #keep(kept: Ticket): Promise<void> {
    this.#forget(kept)
    const { sessionKey, holder, nodeId, ticket } = kept
    const values = [sessionKey, holder, nodeId, ticket]
    await this.#host.query('svc keep turn', this.#kept, values)
  }

  #forget({ holder, ticket }: Ticket): void {
    if (this.#own.get(holder)?.ticket.ticket === ticket) this.#own.delete(holder)
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
      .query<TicketPlace & { ord: number }>('svc turns', this.#text, [
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

function toPlace({ before, first }: TicketPlace): TurnPlace {
  const active = first?.split('/', 1)[0]
  // Other holders have no runs.
  return { position: before, ...(active && !active.startsWith('-') && { active }) }
}
