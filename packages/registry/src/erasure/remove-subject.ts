import { isTerminalStatus, type OwnedSessions, type SessionKey, type Stores } from '@svc/contract'
import { RUN_ERR_NOT_ENDED } from '@svc/contract/errors'
import {
  deadlineOf,
  EndingRuns,
  enteredRuns,
  PAGE,
  removeEnded,
  removeRun,
  type ErasureHost
} from './remove-runs.ts'

/** What was removed of a person, by kinds. */
export interface RemovedSubject {
  schedules: number
  /** Those of single runs too, with their messages. */
  webhooks: number
  /** With their logs, files, inputs and A2A tasks. */
  runs: number
  /** Also those of members and steps. */
  sessions: number
  memories: number
  /** Sessions with a state of their browser. */
  browserStates: number
  /** Sessions with conversations at other services. */
  remoteSessions: number
  /** A2A tasks without a run. */
  tasks: number
}

// What a person starts meanwhile is found by the next pass.
const PASSES = 5

/**
 * Removes all that belongs to a person: schedules, webhooks, runs with their logs, files and tasks, sessions, memories, and what browsers and other
 * services know. Work under way is canceled first. It looks until it finds nothing more: revoke the person's credentials before.
 * @param owner the `sub` of the principal, or the `userId` of callers without credentials
 * @throws RUN_ERR_NOT_ENDED if work has not ended after 30 seconds, or the person keeps starting some; RUN_ERR_STORE
 */
export async function removeSubject(host: ErasureHost, owner: string): Promise<RemovedSubject> {
  const removed: RemovedSubject = {
    schedules: 0,
    webhooks: 0,
    runs: 0,
    sessions: 0,
    memories: 0,
    browserStates: 0,
    remoteSessions: 0,
    tasks: 0
  }
  const total = () => Object.values(removed).reduce((sum: number, count: number) => sum + count, 0)
  for (let pass = 1; pass <= PASSES; pass++) {
    const before = total()
    await removeAll(host, owner, removed)
    if (total() === before) return removed
  }
  throw new RUN_ERR_NOT_ENDED()
}

// Schedules first, which start runs, and webhooks, which would report their ends; then runs, which write all else.
async function removeAll(host: ErasureHost, owner: string, removed: RemovedSubject): Promise<void> {
  const { stores } = host
  removed.schedules += await removeSchedules(stores, owner)
  for (let count = PAGE; count === PAGE; removed.webhooks += count)
    count = (await stores.webhooks?.removeOwner(owner, PAGE)) ?? 0
  await endRuns(host, owner)
  removed.runs += (await removeEnded(stores, { owner })).size
  // Before the sessions, with which a store may remove them.
  for (const port of ['browserStates', 'remoteSessions'] as const) {
    const store = stores[port]
    if (store !== undefined) removed[port] += await removeSessions(store, owner)
  }
  removed.sessions += await removeSessions(stores.sessions, owner, async (key) => {
    removed.runs += await removeEntered(host, key)
  })
  for (let count = PAGE; count === PAGE; removed.memories += count)
    count = await stores.memory.removeOwner(owner, PAGE)
  removed.tasks += await removeTasks(stores, owner)
}

async function removeSchedules({ schedules }: Stores, owner: string): Promise<number> {
  if (schedules === undefined) return 0
  let removed = 0
  for (;;) {
    const page = await schedules.list({ owner, limit: PAGE })
    for (const { scheduleId } of page.schedules) if (await schedules.remove(scheduleId)) removed++
    if (page.schedules.length < PAGE) return removed
  }
}

async function endRuns(host: ErasureHost, owner: string): Promise<void> {
  const deadline = deadlineOf(host)
  const unfinished = { owner, unfinished: true, limit: PAGE }
  while (!deadline.aborted) {
    const runIds = await host.stores.runs.listOwned(unfinished)
    if (runIds.length === 0) return
    await endAll(host, runIds, deadline)
  }
  throw new RUN_ERR_NOT_ENDED()
}

async function endAll(host: ErasureHost, runIds: readonly string[], deadline: AbortSignal): Promise<void> {
  const ending = new EndingRuns(host)
  for (const runId of runIds) ending.end(runId)
  await ending.settle(deadline)
}

async function removeSessions(
  store: OwnedSessions & { remove(key: SessionKey): unknown },
  owner: string,
  before?: (key: SessionKey) => Promise<void>
): Promise<number> {
  for (let removed = 0; ;) {
    const keys = await store.keys({ owner, limit: PAGE })
    for (const key of keys) {
      await before?.(key)
      await store.remove(key)
    }
    removed += keys.length
    if (keys.length < PAGE) return removed
  }
}

// Runs that earlier versions have stored do not name the `userId` of their callers, but are in the sessions.
async function removeEntered(host: ErasureHost, key: SessionKey): Promise<number> {
  let removed = 0
  for await (const runId of enteredRuns(host.stores, key)) {
    const run = await host.stores.runs.find(runId)
    // The messages of webhooks outlive a run that has expired.
    if (run === undefined) await host.stores.webhooks?.removeRun(runId)
    if (run === undefined) continue
    if (!isTerminalStatus(run.status)) await endAll(host, [runId], deadlineOf(host))
    await removeRun(host.stores, runId)
    removed++
  }
  return removed
}

async function removeTasks({ tasks }: Stores, owner: string): Promise<number> {
  for (let removed = 0; ;) {
    const page = await tasks.list({ owner, limit: PAGE })
    for (const { taskId } of page.tasks) await tasks.remove(taskId)
    removed += page.tasks.length
    if (page.tasks.length < PAGE) return removed
  }
}
