import { createHash } from 'node:crypto'
import type { Counted, CounterStore, CounterWindow } from '@svc/contract'
import { MAX_COUNTER_WINDOW } from '@svc/registry/engine'
import { bigintArray, intArray, textArray } from './lane/binary-arrays.ts'
import type { Query } from './query.ts'

/** The increments of a key that one statement makes. */
interface Pending {
  window: CounterWindow
  readonly waiting: PromiseWithResolvers<Counted>[]
}

/** The count of a key after a statement; `key` is its hash. */
interface Row extends Counted {
  readonly key: string
}

// Milliseconds between two removals of keys whose windows have ended.
const CLEAN_EVERY = 60_000

/**
 * Counts on Postgres, by its clock: increments that are asked for while a statement is under way share the next one. The table is not
 * logged, so a crash of the server forgets the counts.
 */
export class PostgresCounters implements CounterStore {
  readonly #query: Query
  readonly #table: string
  readonly #text: string
  readonly #timer: NodeJS.Timeout
  #pending = new Map<string, Pending>()
  #sending: Promise<void> | undefined

  /** @param query fails at once while the server is away @param table qualified by its schema */
  constructor(query: Query, table: string) {
    this.#query = query
    this.#table = table
    this.#text = incrementText(table)
    this.#timer = setInterval(() => void this.#clean(), CLEAN_EVERY).unref()
  }

  increment(key: string, window: CounterWindow): Promise<Counted> {
    const waiter = Promise.withResolvers<Counted>()
    // A key may be longer than an index takes.
    const id = createHash('sha256').update(key).digest('base64url')
    const pending = this.#pending.get(id)
    if (pending === undefined) this.#pending.set(id, { window, waiting: [waiter] })
    else {
      pending.window = window
      pending.waiting.push(waiter)
    }
    this.#sending ??= this.#sendAll()
    return waiter.promise
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#pending.size > 0) {
      const pending = this.#pending
      this.#pending = new Map()
      await this.#send(pending)
    }
    this.#sending = undefined
  }

  async #send(pending: ReadonlyMap<string, Pending>): Promise<void> {
    const all = [...pending.values()]
    try {
      const rows = await this.#query<Row>('svc count', this.#text, [
        textArray([...pending.keys()]),
        intArray(all.map(({ waiting }) => waiting.length)),
        bigintArray(all.map(({ window }) => Math.min(Math.ceil(window.length), MAX_COUNTER_WINDOW))),
        bigintArray(all.map(({ window: { max } }) => (max === undefined ? null : Math.floor(max)))),
        intArray(all.map(({ window }) => (window.extension === 'double' ? 1 : 0)))
      ])
      for (const { key, count, left } of rows) {
        const { waiting } = pending.get(key)!
        for (const [index, { resolve }] of waiting.entries())
          resolve({ count: count - (waiting.length - 1 - index), left })
      }
    } catch (err) {
      for (const { waiting } of all) for (const { reject } of waiting) reject(err)
    }
  }

  // The next time removes what this one could not.
  async #clean(): Promise<void> {
    const text = `delete from ${this.#table} where ends_at < statement_timestamp()`
    await this.#query('svc clean counters', text, []).catch(() => {})
  }
}

// In the order of the keys, so that statements of two nodes wait for each other, not in a circle.
function incrementText(table: string): string {
  const now = 'statement_timestamp()'
  const count = `case when c.ends_at <= ${now} then excluded.count else c.count + excluded.count end`
  const excess = 'c.count + excluded.count - excluded.max'
  const doubled = `case when excluded.doubles = 1 then power(2, least(${excess} - 1, 60)) else 1 end`
  const extended = `least(excluded.length * ${doubled}, ${MAX_COUNTER_WINDOW})`
  const after = (milliseconds: string) => `${now} + make_interval(secs => (${milliseconds}) / 1000.0)`
  return `insert into ${table} as c (key, count, length, max, doubles, ends_at)
    select key, count, length, max, doubles, ${after('length')}
      from unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::int[]) as t (key, count, length, max, doubles) order by key
    on conflict (key) do update set count = ${count}, length = excluded.length, max = excluded.max, doubles = excluded.doubles,
      ends_at = case when c.ends_at <= ${now} then excluded.ends_at
        when ${excess} > 0 then greatest(c.ends_at, ${after(extended)}) else c.ends_at end
    returning key, count, ceil(extract(epoch from ends_at - ${now}) * 1000)::bigint as left`
}
