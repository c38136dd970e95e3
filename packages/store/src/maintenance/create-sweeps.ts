import type { RunStore } from '@svc/contract'
import { sql, type ExpressionBuilder, type Kysely, type NotNull } from 'kysely'
import type { Backend, EndedRuns, ExpiredDays } from '../backend.ts'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import { removeRuns } from '../rows/run-rows.ts'
import type { Tables } from '../tables.ts'
import { removeInBatches } from './remove-in-batches.ts'
import { sweepMemories } from './sweep-memories.ts'
import { sweepSessions } from './sweep-sessions.ts'
import { createWebhookSweep } from './sweep-webhooks.ts'

// Runs and bytes per transaction, so that other work runs between two.
const BATCH = 100
const BATCH_BYTES = 16_777_216
// Worded like the condition of a partial index, so that SQLite uses it.
const HAS_FILES = sql<boolean>`file_bytes > 0`

interface EndedRun {
  readonly run_id: string
  readonly at: number
  readonly bytes: number
  readonly file_bytes: number
}

/** Removes finished runs beyond the limits of age, number and size, oldest first; returns how many. */
async function sweepRuns(
  { db, sources: { ended: from }, ...backend }: Backend,
  { maxAge, maxRuns, maxBytes, fileMaxBytes }: Retention,
  now: number,
  remove: (runIds: readonly string[]) => Promise<void>
): Promise<number> {
  // A run changes no more once it has ended.
  const at = from === 'run' ? 'ended_at' : 'updated_at'
  const ended = db.selectFrom(`${from} as run` as 'run').where(at, 'is not', null)

  // Removes the oldest of these runs up to the first that may stay.
  const removeOldest = async (runs: typeof ended, mustGo: (run: EndedRun) => boolean) => {
    const oldest = runs
      .select(['run_id', `${at} as at`, 'bytes', 'file_bytes'])
      .$narrowType<{ at: NotNull }>()
      .orderBy(at)
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

  const kept = { ...(await backend.countEnded(now)) }
  const removed = await removeOldest(ended, (run) => {
    if (kept.runs <= maxRuns && kept.bytes <= maxBytes && run.at + maxAge > now) return false
    kept.runs--
    kept.bytes -= run.bytes
    kept.fileBytes -= run.file_bytes
    return true
  })
  const removedWithFiles = await removeOldest(ended.where(HAS_FILES), (run) => {
    if (kept.fileBytes <= fileMaxBytes) return false
    kept.fileBytes -= run.file_bytes
    return true
  })
  return removed + removedWithFiles
}

/** Counts finished runs by reading them. */
export async function countEnded(db: Kysely<Tables>): Promise<EndedRuns> {
  const ended = db.selectFrom('run').where('ended_at', 'is not', null)
  const { runs, bytes } = await ended
    .select((run) => [run.fn.countAll<number>().as('runs'), sumOf(run, 'bytes').as('bytes')])
    .executeTakeFirstOrThrow()
  const files = ended.where(HAS_FILES).select((run) => sumOf(run, 'file_bytes').as('bytes'))
  return { runs, bytes, fileBytes: (await files.executeTakeFirstOrThrow()).bytes }
}

function sumOf({ fn, lit }: ExpressionBuilder<Tables, 'run'>, column: 'bytes' | 'file_bytes') {
  return fn.coalesce(fn.sum<number>(column), lit(0))
}

type Sweep = (now: number) => Promise<number>

/** Creates the sweeps of the stores, which remove what exceeds their retention and return its number. */
export function createSweeps(
  backend: Backend,
  retention: Retention,
  removals: Removals,
  sweepFiles: (now: number) => Promise<void>
): Record<'runs' | 'sessions' | 'memories' | 'schedules' | 'webhooks', Sweep> {
  const { db } = backend
  const sweepWebhooks = createWebhookSweep(db, retention.maxAge)
  return {
    runs: createSweep(backend, 'runs', async (now, commit) => {
      const days = await backend.days?.open(now, now - retention.maxAge)
      const removed = await sweepRuns(backend, retention, now, (runIds) =>
        removals.remove(commit, runIds, days)
      )
      await days?.drop()
      await sweepFiles(now)
      return removed
    }),
    sessions: createSweep(backend, 'sessions', (now, commit) =>
      sweepSessions({ db, commit, sources: backend.sources }, retention, now)
    ),
    memories: createSweep(backend, 'memories', (now, commit) =>
      sweepMemories(commit, backend.codes, retention, now)
    ),
    schedules: createSweep(backend, 'schedules', (now, commit) => sweepSchedules(commit, retention, now)),
    webhooks: createSweep(backend, 'webhooks', sweepWebhooks)
  }
}

// Those whose only instant has been over for as long as finished runs are kept.
function sweepSchedules(commit: Commit, { maxAge }: Retention, now: number): Promise<number> {
  return removeInBatches(commit, {
    table: 'schedule',
    key: 'schedule_id',
    time: 'ended_at',
    until: now - maxAge
  })
}

// Runs one sweep at a time: two at once would each remove the surplus. A call during a sweep gets its result.
function createSweep(
  backend: Backend,
  name: string,
  remove: (now: number, commit: Commit) => Promise<number>
): Sweep {
  let underWay: Promise<number> | undefined
  const sweep = async (now: number) => {
    try {
      return await backend.sweep(name, (commit) => remove(now, commit))
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
