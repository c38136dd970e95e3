import { entryFromJson, isTerminalStatus, type LogEntry, type ReadLimit, type StreamLog } from '@svc/registry'
import type { Kysely } from 'kysely'
import type { GroupCommit } from './group-commit.ts'
import { changeRun, PART_BYTES } from './run-rows.ts'
import type { Tables } from './tables.ts'

// Rows of one read: the bytes of a page are known only when they are there.
const MAX_ROWS = 64

type Wake = (gone?: boolean) => void

/** The logs of runs, on SQL. */
export function createStreamLog(db: Kysely<Tables>, commit: GroupCommit): StreamLog {
  const followers = new Map<string, Set<Wake>>()
  const wake = (runId: string, gone = false) => {
    for (const follower of [...(followers.get(runId) ?? [])]) follower(gone)
  }

  return {
    abandon: (runId) => wake(runId, true),
    async append(runId, epoch, entries, change) {
      await commit.write(async (trx) => {
        await changeRun(trx, runId, epoch, bytesOf(entries), change)
        if (entries.length === 0) return
        const rows = entries.map(({ seq, json }) => ({ run_id: runId, seq, json }))
        await trx.insertInto('run_part').values(rows).execute()
      })
      wake(runId)
    },
    async read(runId, after, limit) {
      const rows = await db
        .selectFrom('run_part')
        .select(['seq', 'json'])
        .where('run_id', '=', runId)
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(Math.min(limit.entries, MAX_ROWS))
        .execute()
      return take(rows, limit)
    },
    follow(runId, follower) {
      const set = followers.get(runId) ?? new Set()
      followers.set(runId, set)
      set.add(follower)
      void tellIfUnknown(runId, follower)
      return () => {
        set.delete(follower)
        if (set.size === 0 && followers.get(runId) === set) followers.delete(runId)
      }
    }
  }

  // Behind the writes that are pending: a run that has just been created is known.
  async function tellIfUnknown(runId: string, follower: Wake): Promise<void> {
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

function take(rows: readonly { seq: number; json: string }[], limit: ReadLimit): LogEntry[] {
  const entries: LogEntry[] = []
  let bytes = 0
  for (const { seq, json } of rows) {
    bytes += json.length
    if (bytes > limit.bytes && entries.length > 0) break
    entries.push(entryFromJson(seq, json))
  }
  return entries
}
