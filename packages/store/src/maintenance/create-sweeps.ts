import type { RunStore } from '@svc/contract'
import { sql, type Kysely, type NotNull } from 'kysely'
import type { Backend, ExpiredDays } from '../backend.ts'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import { removeRuns } from '../rows/run-rows.ts'
import type { Tables } from '../tables.ts'
import { sweepMemories } from './sweep-memories.ts'
import { sweepSessions } from './sweep-sessions.ts'

// Runs and bytes per transaction, so that other work runs between two.
const BATCH = 100
const BATCH_BYTES = 16_777_216
// Worded like the condition of a partial index, so that SQLite uses it.
const HAS_FILES = sql<boolean>`file_bytes > 0`

interface EndedRun {
  readonly run_id: string
  readonly ended_at: number
  readonly bytes: number
  readonly file_bytes: number
}

/** Removes finished runs beyond the limits of age, number and size, oldest first; returns how many. */
async function sweepRuns(
  db: Kysely<Tables>,
  { maxAge, maxRuns, maxBytes, fileMaxBytes }: Retention,
  now: number,
  remove: (runIds: readonly string[]) => Promise<void>
): Promise<number> {
  const ended = db.selectFrom('run').where('ended_at', 'is not', null)
  const withFiles = ended.where(HAS_FILES)

  // Removes the oldest of these runs up to the first that may stay.
  const removeOldest = async (runs: typeof ended, mustGo: (run: EndedRun) => boolean) => {
    const oldest = runs
      .select(['run_id', 'ended_at', 'bytes', 'file_bytes'])
      .$narrowType<{ ended_at: NotNull }>()
      .orderBy('ended_at')
      .limit(BATCH)
    for (let removed = 0; ;) {
      const ids: string[] = []
      let bytes = 0
      for (const run of await oldest.execute()) {
        if (bytes >= BATCH_BYTES || !mustGo(run)) break
        ids.push(run.run_id)
        bytes += run.bytes
      }
      if (ids.length === 0) return removed
      await remove(ids)
      removed += ids.length
    }
  }

  const kept = await ended
    .select((select) => [
      select.fn.countAll<number>().as('runs'),
      select.fn.coalesce(select.fn.sum<number>('bytes'), select.lit(0)).as('bytes')
    ])
    .executeTakeFirstOrThrow()
  const removed = await removeOldest(ended, (run) => {
    if (kept.runs <= maxRuns && kept.bytes <= maxBytes && run.ended_at + maxAge > now) return false
    kept.runs--
    kept.bytes -= run.bytes
    return true
  })

  const files = await withFiles
    .select((select) => select.fn.coalesce(select.fn.sum<number>('file_bytes'), select.lit(0)).as('bytes'))
    .executeTakeFirstOrThrow()
  const removedWithFiles = await removeOldest(withFiles, (run) => {
    if (files.bytes <= fileMaxBytes) return false
    files.bytes -= run.file_bytes
    return true
  })
  return removed + removedWithFiles
}

/**
 * Removes messages that have been dead for as long as finished runs are kept, those whose webhook was removed meanwhile, and webhooks of
 * runs that are over and whose messages are gone; returns their number.
 */
async function sweepWebhooks(commit: Commit, { maxAge }: Retention, now: number): Promise<number> {
  return commit.writeAmongOthers(async (trx) => {
    const dead = trx
      .deleteFrom('webhook_delivery')
      .where('dead', '=', 1)
      .where('due_at', '<=', now - maxAge)
    const left = trx
      .deleteFrom('webhook_delivery')
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom('webhook as w')
              .select('w.webhook_id')
              .whereRef('w.webhook_id', '=', 'webhook_delivery.webhook_id')
          )
        )
      )
    // A webhook is added before its run is, and a run that never came is as old as one that has expired.
    const over = trx
      .deleteFrom('webhook')
      .where('run_id', 'is not', null)
      .where(({ and, exists, not, or, eb, selectFrom }) => {
        const run = selectFrom('run as r').select('r.run_id').whereRef('r.run_id', '=', 'webhook.run_id')
        const message = selectFrom('webhook_delivery as d')
          .select('d.seq')
          .whereRef('d.webhook_id', '=', 'webhook.webhook_id')
        const hasEnded = exists(run.where('r.ended_at', 'is not', null))
        const neverCame = and([eb('created_at', '<=', now - maxAge), not(exists(run))])
        return and([not(exists(message)), or([hasEnded, neverCame])])
      })
    let removed = 0
    for (const each of [dead, left, over]) removed += Number((await each.executeTakeFirst()).numDeletedRows)
    return removed
  })
}

type Sweep = (now: number) => Promise<number>

/** Creates the sweeps of the stores, which remove what exceeds their retention and return its number. */
export function createSweeps(
  backend: Backend,
  retention: Retention,
  removals: Removals,
  sweepFiles: (now: number) => Promise<void>
): Record<'runs' | 'sessions' | 'memories' | 'schedules' | 'webhooks', Sweep> {
  const { db, commit } = backend
  return {
    runs: createSweep(backend, 'runs', async (now) => {
      const days = await backend.days?.open(now, now - retention.maxAge)
      const removed = await sweepRuns(db, retention, now, (runIds) => removals.remove(commit, runIds, days))
      await days?.drop()
      await sweepFiles(now)
      return removed
    }),
    sessions: createSweep(backend, 'sessions', (now) => sweepSessions(db, commit, retention, now)),
    memories: createSweep(backend, 'memories', (now) => sweepMemories(db, commit, retention, now)),
    schedules: createSweep(backend, 'schedules', (now) => sweepSchedules(commit, retention, now)),
    webhooks: createSweep(backend, 'webhooks', (now) => sweepWebhooks(commit, retention, now))
  }
}

// Those whose only instant has been over for as long as finished runs are kept.
async function sweepSchedules(commit: Commit, { maxAge }: Retention, now: number): Promise<number> {
  const { numDeletedRows } = await commit.write((trx) =>
    trx
      .deleteFrom('schedule')
      .where('ended_at', '<=', now - maxAge)
      .executeTakeFirst()
  )
  return Number(numDeletedRows)
}

// Runs one sweep at a time: two at once would each remove the surplus. A call during a sweep gets its result.
function createSweep(backend: Backend, name: string, remove: Sweep): Sweep {
  let underWay: Promise<number> | undefined
  const sweep = async (now: number) => {
    try {
      return await backend.sweep(name, () => remove(now))
    } finally {
      underWay = undefined
    }
  }
  return (now) => (underWay ??= sweep(now))
}

type Listener = Parameters<NonNullable<RunStore['onRemove']>>[0]

/** Announces the removal of runs, so that other data of theirs goes first: no crash leaves it behind. */
export class Removals {
  readonly #listeners = new Set<Listener>()
  readonly #abandon: (runId: string) => void

  /** @param abandon notifies the readers of a removed log */
  constructor(abandon: (runId: string) => void) {
    this.#abandon = abandon
  }

  /** Calls the listener before each removal, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Removes runs once every listener has resolved; call it outside of transactions.
   * @param days whose logs are removed otherwise
   * @throws the error of a listener
   */
  async remove(commit: Commit, runIds: readonly string[], days?: ExpiredDays): Promise<void> {
    for (const listener of this.#listeners) await listener(runIds)
    const withLogs = runIds.filter((runId) => days?.has(runId) !== true)
    await commit.write((trx) => removeRuns(trx, runIds, withLogs))
    for (const runId of runIds) this.#abandon(runId)
  }
}
