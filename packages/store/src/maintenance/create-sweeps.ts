import type { Backend } from '../backend.ts'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import type { Removals } from './removals.ts'
import { sweepMemories } from './sweep-memories.ts'
import { sweepRuns } from './sweep-runs.ts'
import { sweepSessions } from './sweep-sessions.ts'
import { sweepWebhooks } from './sweep-webhooks.ts'

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
