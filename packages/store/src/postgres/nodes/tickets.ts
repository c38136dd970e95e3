/** Quotes the name of a table, with its schema. */
export type TableName = (name: string) => string

/** A ticket of no node: it counts while its run is unfinished. */
export const NO_NODE = ''

// Beyond every ticket.
const BEYOND = '9223372036854775807'
const RUN_ID = `split_part(o.holder, '/', 1)`
const LONG_AGO = `extract(epoch from clock_timestamp() - interval '1 hour') * 1000`

// Of a living node, or of an unfinished run. One run is looked up for each ticket: an "exists" may be found by reading all runs.
function counts(table: TableName): string {
  return `(exists (select from ${table('node')} n where n.node_id = o.node_id)
    or coalesce((select r.ended_at is null from ${table('run')} r where r.run_id = ${RUN_ID} limit 1), false))`
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
  return `delete from ${table('session_turn')} o where not ${counts(table)}
    or (select r.ended_at from ${table('run')} r where r.run_id = ${RUN_ID}) < ${LONG_AGO}`
}

/**
 * Clauses that number the tickets of a transaction which has locked their sessions, so that a ticket is visible to all that are taken after it.
 * @param asked a clause with `ord`, `session_key`, `holder`, `node_id` and `if_free`
 * @returns ending with the clause `k`, which also has the `ticket`, whether it `is_new`, how many count `before` it, and who holds the
 * `first` one of these. The ticket is null where the turn is not free.
 */
export function numberTickets(table: TableName, asked: string): string {
  return `g as (select a.ord, a.session_key, a.holder, a.node_id, a.if_free, mine.ticket as own, b.before, b.first
      from ${asked} a left join ${table('session_turn')} mine on mine.session_key = a.session_key and mine.holder = a.holder
      cross join lateral ${ticketsBefore(table, 'a.session_key', `coalesce(mine.ticket, ${BEYOND})`)} b),
    w as (select g.*, row_number() over s as nth, first_value(holder) over s as leader from g
      where own is null and not (if_free and before > 0) window s as (partition by session_key order by ord)),
    k as (select g.ord, g.session_key, g.holder, g.node_id, w.nth is not null as is_new,
        case when w.nth is null then g.own else w.nth + coalesce(
          (select max(m.ticket) from ${table('session_turn')} m where m.session_key = g.session_key), 0) end as ticket,
        (g.before + coalesce(w.nth - 1, 0))::int as before,
        case when g.before > 0 then g.first when w.nth > 1 then w.leader end as first
      from g left join w using (ord))`
}
