import type { LogEntry, ReadLimit } from '@svc/registry'
import { entryFromJson } from '@svc/registry/store-kit'
import { sql, type Kysely } from 'kysely'
import type { LogReads } from '../runs/stream-log.ts'
import type { Tables } from '../tables.ts'

// Rows per read: the size of a page is known only after reading it.
const MAX_ROWS = 64

// Larger parts, in bytes, are read only if they still fit the page.
const MAX_PAGED = 65_536

/** Reads pages of logs. */
export function createLogReads(db: Kysely<Tables>): LogReads {
  const readLarge = async (runId: string, seq: number) => {
    const row = db.selectFrom('run_part').select('json').where('run_id', '=', runId).where('seq', '=', seq)
    return (await row.executeTakeFirst())?.json
  }
  return {
    async read(runId: string, after: number, limit: ReadLimit) {
      const rows = await db
        .selectFrom('run_part')
        .select('seq')
        .select(sql<string | null>`case when octet_length(json) <= ${MAX_PAGED} then json end`.as('json'))
        .select(sql<number>`octet_length(json)`.as('bytes'))
        .where('run_id', '=', runId)
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(Math.min(limit.entries, MAX_ROWS))
        .execute()
      const entries: LogEntry[] = []
      let bytes = 0
      for (const { seq, json, bytes: size } of rows) {
        bytes += json?.length ?? size
        if (bytes > limit.bytes && entries.length > 0) break
        const whole = json ?? (await readLarge(runId, seq))
        // It was removed meanwhile.
        if (whole === undefined) break
        entries.push(entryFromJson(seq, whole))
      }
      return entries
    }
  }
}
