import type { LogEntry, ReadLimit } from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'
import { bigintArray, intArray, textArray } from '../lane/binary-arrays.ts'
import type { Query } from '../query.ts'
import type { LogReads } from '../../runs/stream-log.ts'
import { takePage } from '../../runs/tail.ts'

interface Asked {
  readonly runId: string
  readonly after: number
  readonly limit: ReadLimit
  readonly page: PromiseWithResolvers<readonly LogEntry[]>
}

interface Row {
  ord: number
  seq: number
  /** Null if the entry exceeds the limit of its read. */
  json: string | null
}

// Rows per read, and reads per query: bounds of what one query returns.
const MAX_ROWS = 512
const MAX_READS = 100
const MAX_SEQ = 2_147_483_647

/** Reads pages of logs: all that one turn of the event loop asks for in one query. */
export class BatchReads implements LogReads {
  readonly #query: Query
  readonly #text: string
  #asked = new Map<string, Asked>()

  /** @param parts the quoted name of the table of parts */
  constructor(query: Query, parts: string) {
    this.#query = query
    // The bytes before an entry decide whether it still fits; the first always does.
    this.#text = `select f.ord::int, p.seq,
        case when p.before = 0 or p.before + octet_length(p.json) <= f.bytes then p.json end as json
      from unnest($1::text[], $2::int[], $3::int[], $4::bigint[]) with ordinality as f(run_id, after, most, bytes, ord)
      cross join lateral (
        select q.seq, q.json, sum(octet_length(q.json)) over (order by q.seq) - octet_length(q.json) as before
        from (select seq, json from ${parts} where run_id = f.run_id and seq > f.after order by seq limit f.most) q
      ) p
      order by f.ord, p.seq`
  }

  /** The entries of a log after a `seq`. */
  read(runId: string, after: number, limit: ReadLimit): Promise<readonly LogEntry[]> {
    if (this.#asked.size === 0) setImmediate(() => this.#readAll())
    const key = `${runId} ${after} ${limit.entries} ${limit.bytes}`
    let asked = this.#asked.get(key)
    if (asked === undefined) {
      asked = { runId, after, limit, page: Promise.withResolvers() }
      this.#asked.set(key, asked)
    }
    return asked.page.promise
  }

  #readAll(): void {
    const asked = [...this.#asked.values()]
    this.#asked = new Map()
    for (let index = 0; index < asked.length; index += MAX_READS)
      void this.#readSome(asked.slice(index, index + MAX_READS))
  }

  async #readSome(asked: readonly Asked[]): Promise<void> {
    try {
      const rows = await this.#query<Row>('svc read', this.#text, [
        textArray(asked.map(({ runId }) => runId)),
        intArray(asked.map(({ after }) => Math.min(after, MAX_SEQ))),
        intArray(asked.map(({ limit }) => Math.min(limit.entries, MAX_ROWS))),
        bigintArray(asked.map(({ limit }) => Math.min(limit.bytes, MAX_SEQ)))
      ])
      const found = asked.map((): LogEntry[] => [])
      for (const { ord, seq, json } of rows) if (json !== null) found[ord - 1]!.push(entryFromJson(seq, json))
      for (const [index, { limit, page }] of asked.entries()) page.resolve(takePage(found[index]!, limit))
    } catch (err) {
      for (const { page } of asked) page.reject(err)
    }
  }
}
