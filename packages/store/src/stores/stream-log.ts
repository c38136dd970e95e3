import { isTerminalStatus, type LogEntry, type ReadLimit, type StreamLog } from '@svc/registry'
import { entryFromJson } from '@svc/registry/store-kit'
import { sql, type Kysely } from 'kysely'
import { FollowedLog, type Wake } from './followed-log.ts'
import type { Commit } from '../commit.ts'
import { changeRun, PART_BYTES } from '../rows/run-rows.ts'
import { bytesOfSteps, insertSteps, removeProgress, toStepRow } from '../rows/step-rows.ts'
import type { Tables } from '../tables.ts'

// Rows per read: the size of a page is known only after reading it.
const MAX_ROWS = 64

// Larger parts, in bytes, are read only if they still fit the page.
const MAX_PAGED = 65_536

/** The logs of runs, in SQL. */
export function createStreamLog(db: Kysely<Tables>, commit: Commit): StreamLog {
  const followed = new Map<string, FollowedLog>()
  const readPage = async (runId: string, after: number, limit: ReadLimit) => {
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
  const readLarge = async (runId: string, seq: number) => {
    const row = db.selectFrom('run_part').select('json').where('run_id', '=', runId).where('seq', '=', seq)
    return (await row.executeTakeFirst())?.json
  }

  return {
    abandon(runId) {
      const log = followed.get(runId)
      log?.outdate()
      log?.wake(true)
    },
    async append(runId, epoch, entries, change, steps = []) {
      await commit.write(async (trx) => {
        const rows = steps.map((step) => toStepRow(runId, step))
        await changeRun(trx, runId, epoch, bytesOf(entries) + bytesOfSteps(rows), change)
        if (entries.length > 0)
          await trx
            .insertInto('run_part')
            .values(entries.map(({ seq, json }) => ({ run_id: runId, seq, json })))
            .execute()
        if (change !== undefined && isTerminalStatus(change.status)) await removeProgress(trx, runId)
        else if (rows.length > 0) await insertSteps(trx, rows)
      })
      const log = followed.get(runId)
      log?.outdate()
      log?.wake(false)
    },
    read(runId, after, limit) {
      const read = () => readPage(runId, after, limit)
      return followed.get(runId)?.share(after, limit, read) ?? read()
    },
    follow(runId, follower) {
      const log = followed.get(runId) ?? new FollowedLog()
      followed.set(runId, log)
      log.followers.add(follower)
      void wakeIfEnded(runId, follower)
      return () => {
        log.followers.delete(follower)
        if (log.followers.size === 0 && followed.get(runId) === log) followed.delete(runId)
      }
    }
  }

  // After pending writes, so that a run just created is found.
  async function wakeIfEnded(runId: string, follower: Wake): Promise<void> {
    const known = await commit
      .write((trx) => trx.selectFrom('run').select('status').where('run_id', '=', runId).executeTakeFirst())
      .catch(() => undefined)
    if (known === undefined) follower(true)
    else if (isTerminalStatus(known.status)) follower()
  }
}

function bytesOf(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { json }) => sum + Buffer.byteLength(json) + PART_BYTES, 0)
}
