import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { bigintArray, textArray } from '../lane/binary-arrays.ts'
import type { Transact } from '../query.ts'

/** A place in the queue of a session. */
export interface Ticket {
  readonly sessionKey: string
  readonly holder: string
  readonly nodeId: string
  readonly ticket: number
}

/** A ticket that was just taken. */
export interface TakenTicket extends Ticket {
  /** The number of tickets before it that count. */
  readonly before: number
  /** The holder of the first one of these. */
  readonly first: string | undefined
}

/** The session is busy, and no ticket was taken. */
export type Refused = Pick<TakenTicket, 'before' | 'first'> & { readonly ticket: undefined }

interface Asked<T, R> {
  readonly what: T
  readonly done: PromiseWithResolvers<R>
}

// Locks of a transaction take shared memory of the server.
const MAX_BATCH = 200
// Beyond every ticket.
const BEYOND = '9223372036854775807'
const RUN_ID = `split_part(o.holder, '/', 1)`
const LONG_AGO = `extract(epoch from clock_timestamp() - interval '1 hour') * 1000`

/** Quotes the name of a table, with its schema. */
type TableName = (name: string) => string

type NewTicket = Omit<Ticket, 'ticket'> & { readonly ifFree: boolean }
type Taking = Asked<NewTicket, TakenTicket | Refused>
type Returning = Asked<Ticket, boolean>

interface TakenRow {
  session_key: string
  holder: string
  ticket: number
  first: boolean
}

interface PlaceRow {
  session_key: string
  holder: string
  before: number
  first: string | null
}

/** The condition that no ticket before this one counts. */
function isFirst(table: TableName, sessionKey: string, ticket: string): string {
  return `not exists (select from ${table('session_turn')} o
    where o.session_key = ${sessionKey} and o.ticket < ${ticket} and ${counts(table)})`
}

/** A table with one row: how many tickets before this one count, and who holds the first one of these. */
export function ticketsBefore(table: TableName, sessionKey: string, ticket: string): string {
  return `(select count(*)::int as before, (array_agg(o.holder order by o.ticket))[1] as first
    from ${table('session_turn')} o
    where o.session_key = ${sessionKey} and o.ticket < ${ticket} and ${counts(table)})`
}

/**
 * Removes the tickets that do not count, and those of living nodes whose runs ended so long ago that they can only have been lost: a turn
 * may be saved shortly after the end of its run.
 */
export function removeLostTickets(table: TableName): string {
  return `delete from ${table('session_turn')} o where not ${counts(table)} or exists (
    select from ${table('run')} r where r.run_id = ${RUN_ID} and r.ended_at < ${LONG_AGO})`
}

// Of a living node, or of an unfinished run.
function counts(table: TableName): string {
  return `(exists (select from ${table('node')} n where n.node_id = o.node_id)
    or exists (select from ${table('run')} r where r.run_id = ${RUN_ID} and r.ended_at is null))`
}

/**
 * Takes and returns tickets in batches: those that a node asks for during one transaction share the next. A session's tickets are
 * numbered under a lock of the session, so that a ticket is visible to all that are taken after it.
 */
export class TicketBatches {
  readonly #transact: Transact
  readonly #take: string
  readonly #places: string
  readonly #return: string
  readonly #taken: Taking[] = []
  readonly #returned: Returning[] = []
  #isWorking = false

  /** @param table quotes the name of a table, with its schema */
  constructor(transact: Transact, table: (name: string) => string) {
    this.#transact = transact
    const turn = table('session_turn')
    this.#take = `insert into ${turn} as t (session_key, ticket, holder, node_id)
      select n.session_key,
        coalesce((select max(m.ticket) from ${turn} m where m.session_key = n.session_key), 0)
          + row_number() over (partition by n.session_key order by n.ord),
        n.holder, n.node_id
      from unnest($1::text[], $2::text[], $3::text[], $4::boolean[])
        with ordinality as n(session_key, holder, node_id, if_free, ord)
      where not n.if_free or not exists (select from ${turn} o
        where o.session_key = n.session_key and o.holder <> n.holder and ${counts(table)})
      on conflict (session_key, holder) do update set node_id = excluded.node_id
      returning session_key, holder, ticket, ${isFirst(table, 't.session_key', 't.ticket')} as first`
    this.#places = `select n.session_key, n.holder, b.before, b.first
      from unnest($1::text[], $2::text[]) as n(session_key, holder)
      left join ${turn} t on t.session_key = n.session_key and t.holder = n.holder
      cross join lateral ${ticketsBefore(table, 'n.session_key', `coalesce(t.ticket, ${BEYOND})`)} b`
    this.#return = `delete from ${turn} t
      using unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as g(session_key, holder, node_id, ticket)
      where t.session_key = g.session_key and t.holder = g.holder and t.node_id = g.node_id and t.ticket = g.ticket
      returning t.session_key,
        exists (select from ${turn} o where o.session_key = t.session_key and o.ticket <> t.ticket) as waiting`
  }

  /**
   * Takes a ticket, or the one that the holder has; in call order. A holder has at most one call for a session at a time.
   * @param ifFree true to take none if another one counts
   */
  take(sessionKey: string, holder: string, nodeId: string): Promise<TakenTicket>
  take(sessionKey: string, holder: string, nodeId: string, ifFree: boolean): Promise<TakenTicket | Refused>
  take(sessionKey: string, holder: string, nodeId: string, ifFree = false): Promise<TakenTicket | Refused> {
    return this.#ask(this.#taken, { sessionKey, holder, nodeId, ifFree })
  }

  /** Returns a ticket, unless another node has it now; resolves with whether others may wait. */
  return(ticket: Ticket): Promise<boolean> {
    return this.#ask(this.#returned, ticket)
  }

  #ask<T, R>(list: Asked<T, R>[], what: T): Promise<R> {
    const done = Promise.withResolvers<R>()
    list.push({ what, done })
    if (!this.#isWorking) void this.#work()
    return done.promise
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    while (this.#taken.length + this.#returned.length > 0) {
      await new Promise((resolve) => setImmediate(resolve))
      const returned = this.#returned.splice(0, MAX_BATCH)
      const taken = this.#taken.splice(0, sizeOfBatch(this.#taken))
      try {
        const rows = await this.#transact((client) => this.#commit(client, taken, returned))
        settle(taken, returned, rows)
      } catch (err) {
        for (const { done } of [...taken, ...returned]) done.reject(err)
      }
    }
    this.#isWorking = false
  }

  async #commit(client: PoolClient, taken: readonly Taking[], returned: readonly Returning[]) {
    const give = returned.map(({ what }) => what)
    const take = taken.map(({ what }) => what)
    const keys = new Set([...give, ...take].map(({ sessionKey }) => hashOf(sessionKey)))
    // In one order, so that two nodes do not wait for each other.
    const locks = [...keys].toSorted((a, b) => (a < b ? -1 : 1)).map((key) => `(${key})`)
    await client.query(`select pg_advisory_xact_lock(key) from (values ${locks.join(', ')}) as k(key)`)
    const gone =
      give.length > 0 &&
      (await client.query<{ session_key: string; waiting: boolean }>(this.#return, [
        ...keysOf(give),
        bigintArray(give.map(({ ticket }) => ticket))
      ]))
    const ifFree = take.map((each) => each.ifFree)
    const got = take.length > 0 && (await client.query<TakenRow>(this.#take, [...keysOf(take), ifFree]))
    const won = winnersOf(got ? got.rows : [])
    const later = take.filter((each) => !won.has(idOf(each.sessionKey, each.holder)))
    const places = later.length > 0 && (await client.query<PlaceRow>(this.#places, keysOf(later).slice(0, 2)))
    return { gone: gone ? gone.rows : [], got: got ? got.rows : [], places: places ? places.rows : [] }
  }
}

// The tickets of one batch do not see each other: the places among them are decided by one more query.
function sizeOfBatch(asked: readonly Taking[]): number {
  const keys = new Set<string>()
  for (const [index, { what }] of asked.entries()) {
    if (index === MAX_BATCH || (what.ifFree && keys.has(what.sessionKey))) return index
    keys.add(what.sessionKey)
  }
  return asked.length
}

function winnersOf(got: readonly TakenRow[]): ReadonlySet<string> {
  const lowest = new Map<string, number>()
  for (const { session_key: key, ticket } of got) lowest.set(key, Math.min(ticket, lowest.get(key) ?? ticket))
  const won = got.filter(({ first, ticket, session_key: key }) => first && ticket === lowest.get(key))
  return new Set(won.map(({ session_key, holder }) => idOf(session_key, holder)))
}

function idOf(sessionKey: string, holder: string): string {
  return `${sessionKey}\n${holder}`
}

function settle(
  taken: readonly Taking[],
  returned: readonly Returning[],
  {
    gone,
    got,
    places
  }: { gone: { session_key: string; waiting: boolean }[]; got: TakenRow[]; places: PlaceRow[] }
): void {
  const unclaimed = new Set(gone.flatMap(({ session_key, waiting }) => (waiting ? [] : [session_key])))
  for (const { what, done } of returned) done.resolve(!unclaimed.has(what.sessionKey))
  const found = new Map(got.map((row) => [idOf(row.session_key, row.holder), row.ticket]))
  const placed = new Map(places.map((row) => [idOf(row.session_key, row.holder), row]))
  for (const { what, done } of taken) {
    const id = idOf(what.sessionKey, what.holder)
    const { before = 0, first } = placed.get(id) ?? {}
    const place = { before, first: first ?? undefined }
    const ticket = found.get(id)
    done.resolve(ticket === undefined ? { ...place, ticket } : { ...what, ...place, ticket })
  }
}

function keysOf(tickets: readonly Omit<NewTicket, 'ifFree'>[]): Buffer[] {
  return [
    textArray(tickets.map(({ sessionKey }) => sessionKey)),
    textArray(tickets.map(({ holder }) => holder)),
    textArray(tickets.map(({ nodeId }) => nodeId))
  ]
}

// A key may have any length, the key of an advisory lock has 64 bits.
function hashOf(sessionKey: string): bigint {
  return createHash('sha256').update(sessionKey).digest().readBigInt64BE()
}
