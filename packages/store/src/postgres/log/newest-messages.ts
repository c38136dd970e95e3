import { MAX_PAGED, type NewestMessages } from '../../stores/session-messages.ts'
import { intArray, textArray } from '../lane/binary-arrays.ts'
import type { Query } from '../query.ts'
import { Together } from './together.ts'

interface Row {
  readonly ord: number
  readonly branched: boolean
  readonly seq: number | null
  /** Null if it is large. */
  readonly message: string | null
}

interface Wanted {
  readonly sessionKey: string
  readonly limit: number
}

// Sessions per query.
const MOST = 32

/** Reads the newest messages of sessions: all that one turn of the event loop asks for in one query. */
export function createNewestMessages(query: Query, table: (name: string) => string): NewestMessages {
  const text = `select f.ord::int, b.branched, m.seq, m.message
    from unnest($1::text[], $2::int[]) with ordinality as f(session_key, most, ord)
    cross join lateral (select exists (select from ${table('session_branch')} where session_key = f.session_key) as branched) b
    left join lateral (
      select seq, case when octet_length(message) <= ${MAX_PAGED} then message end as message
      from ${table('session_message')} where session_key = f.session_key order by seq desc limit f.most
    ) m on not b.branched
    order by f.ord, m.seq desc`
  const reads = new Together<Wanted, readonly string[] | undefined>(
    MOST,
    ({ sessionKey, limit }) => `${limit} ${sessionKey}`,
    async (wanted) => {
      const rows = await query<Row>('svc newest messages', text, [
        textArray(wanted.map(({ sessionKey }) => sessionKey)),
        intArray(wanted.map(({ limit }) => limit))
      ])
      const found = wanted.map((): string[] | undefined => [])
      for (const { ord, branched, seq, message } of rows)
        if (branched || (seq !== null && message === null)) found[ord - 1] = undefined
        else if (message !== null) found[ord - 1]?.push(message)
      return found
    }
  )
  return (sessionKey, limit) => reads.ask({ sessionKey, limit })
}
