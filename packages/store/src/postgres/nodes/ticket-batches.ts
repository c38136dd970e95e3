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
  /** True if no ticket that counts is before it. */
  readonly hasTurn: boolean
}

interface Asked<T, R> {
  readonly what: T
  readonly done: PromiseWithResolvers<R>
}

// Locks of a transaction take shared memory of the server.
const MAX_BATCH = 200
const RUN_ID = `split_part(o.holder, '/', 1)`
const LONG_AGO = `extract(epoch from clock_timestamp() - interval '1 hour') * 1000`

/** Quotes the name of a table, with its schema. */
type TableName = (name: string) => string

type NewTicket = Omit<Ticket, 'ticket'>
type Taking = Asked<NewTicket, TakenTicket>
type Returning = Asked<Ticket, boolean>

interface TakenRow {
  session_key: string
  holder: string
  ticket: number
  first: boolean
}

/** The condition that no ticket before this one counts. */
export function isFirst(table: TableName, sessionKey: string, ticket: string): string {
  return `not exists (select from ${table('session_turn')} o
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
      from unnest($1::text[], $2::text[], $3::text[]) with ordinality as n(session_key, holder, node_id, ord)
      on conflict (session_key, holder) do update set node_id = excluded.node_id
      returning session_key, holder, ticket, ${isFirst(table, 't.session_key', 't.ticket')} as first`
    this.#return = `delete from ${turn} t
      using unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as g(session_key, holder, node_id, ticket)
      where t.session_key = g.session_key and t.holder = g.holder and t.node_id = g.node_id and t.ticket = g.ticket
      returning t.session_key,
        exists (select from ${turn} o where o.session_key = t.session_key and o.ticket <> t.ticket) as waiting`
  }

  /** Takes a ticket, or the one that the holder has; in call order. A holder has at most one call for a session at a time. */
  take(sessionKey: string, holder: string, nodeId: string): Promise<TakenTicket> {
    return this.#ask(this.#taken, { sessionKey, holder, nodeId })
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
      const taken = this.#taken.splice(0, MAX_BATCH)
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
    const got = take.length > 0 && (await client.query<TakenRow>(this.#take, keysOf(take)))
    return { gone: gone ? gone.rows : [], got: got ? got.rows : [] }
  }
}

function settle(
  taken: readonly Taking[],
  returned: readonly Returning[],
  { gone, got }: { gone: { session_key: string; waiting: boolean }[]; got: TakenRow[] }
): void {
  const unclaimed = new Set(gone.flatMap(({ session_key, waiting }) => (waiting ? [] : [session_key])))
  for (const { what, done } of returned) done.resolve(!unclaimed.has(what.sessionKey))
  const found = new Map(got.map((row) => [`${row.session_key}\n${row.holder}`, row]))
  const lowest = new Map<string, number>()
  for (const { session_key: key, ticket } of got) lowest.set(key, Math.min(ticket, lowest.get(key) ?? ticket))
  for (const { what, done } of taken) {
    const { ticket, first } = found.get(`${what.sessionKey}\n${what.holder}`)!
    // The tickets of one batch do not see each other.
    done.resolve({ ...what, ticket, hasTurn: first && ticket === lowest.get(what.sessionKey) })
  }
}

function keysOf(tickets: readonly NewTicket[]): Buffer[] {
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
