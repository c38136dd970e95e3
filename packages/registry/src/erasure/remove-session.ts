import {
  isTerminalStatus,
  memorySpaceOf,
  sessionKeyText,
  type EndTurn,
  type SessionKey,
  type Stores
} from '@svc/contract'
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

/** What was removed with a session. */
export interface RemovedSession {
  /** The number of runs, with their logs, files and tasks. */
  readonly runs: number
  /** The number of memories that were made of it. */
  readonly memories: number
  /** The number of its messages that stay, since forks share them. They go with the last of these. */
  readonly shared: number
  /** The number of its forks that were removed with it. */
  readonly forks: number
}

/** How a session is removed. */
export interface RemovalOptions {
  /** Whether its forks go too, and theirs; default false. The numbers are then those of all. */
  forks?: boolean
}

// Sessions of one id: those of several runnables, and of their steps.
const MOST_SESSIONS = 1_000

/**
 * Removes a conversation with all that was made of it: its runs with their logs, files and tasks, its messages and those of its members and
 * steps, memories, and what browsers and other services know of it. A run under way is canceled first. Runs that are accepted after
 * the call has begun stay, in a new session. Messages that a fork shares stay for it. If it fails, a second call removes the rest.
 * @throws RUN_ERR_NOT_ENDED if a run has not ended after 30 seconds; RUN_ERR_STORE
 */
export async function removeSession(
  host: ErasureHost,
  key: SessionKey,
  { forks = false }: RemovalOptions = {}
): Promise<RemovedSession> {
  let [runs, memories] = [0, 0]
  const found = forks ? ((await host.stores.sessionIndex?.forks(key)) ?? []) : []
  for (const fork of found) {
    const removed = await removeOne(host, fork)
    runs += removed.runs
    memories += removed.memories
  }
  const own = await removeOne(host, key)
  return {
    runs: runs + own.runs,
    memories: memories + own.memories,
    shared: own.shared,
    forks: found.length
  }
}

type Removed = Omit<RemovedSession, 'forks'>

async function removeOne(host: ErasureHost, key: SessionKey): Promise<Removed> {
  const deadline = deadlineOf(host)
  const end = await takeTurn(host, key, deadline)
  try {
    return await forget(host.stores, key)
  } finally {
    end()
  }
}

// Waits at the end of the line, and cancels the runs before.
async function takeTurn(host: ErasureHost, key: SessionKey, deadline: AbortSignal): Promise<EndTurn> {
  const { runs, sessions, sessionIndex: index } = host.stores
  const ending = new EndingRuns(host)
  let after = (await index?.find(key))?.lastOrdinal ?? 0
  const endEntered = async () => {
    for (const { ordinal, runId } of (await index?.runs(key, after, PAGE)) ?? []) {
      ending.end(runId)
      after = ordinal
    }
  }
  const locking = (async () => sessions.lock(key, deadline))()
  // Those that have their turns only now were accepted before the lock was asked for, or take none.
  const unfollow = index?.follow(key, () => void endEntered().catch(() => {}))
  try {
    const ids = await runs.listOwned({
      owner: key.owner,
      session: key,
      unfinished: true,
      limit: MOST_SESSIONS
    })
    for (const runId of ids) ending.end(runId)
    await endEntered()
    const end = await locking
    try {
      await ending.settle(deadline)
      return end
    } catch (err) {
      end()
      throw err
    }
  } catch (err) {
    void locking.then((end) => end()).catch(() => {})
    throw deadline.aborted && err === deadline.reason ? new RUN_ERR_NOT_ENDED() : err
  } finally {
    unfollow?.()
  }
}

// The session goes last, so that a second call finds what a failed one has left.
async function forget(stores: Stores, key: SessionKey): Promise<Removed> {
  const { owner, sessionId } = key
  const [runIds, runs] = await removeRuns(stores, key)
  const same = { owner, sessionId, limit: MOST_SESSIONS }
  const keyText = sessionKeyText(key)
  for (const other of await stores.sessions.keys(same))
    if (sessionKeyText(other) !== keyText) await stores.sessions.removeTurns(other, [...runIds])
  const space = key.kind === 'agent' ? memorySpaceOf(key) : undefined
  const memories = await stores.memory.removeSession(owner, sessionId, ({ namespace, metadata }) => {
    if (runIds.has(metadata?.['runId'] as string)) return true
    return space !== undefined && (namespace === space || namespace.startsWith(`${space}/`))
  })
  // Other runnables may have a session of the same id.
  const left = new Set((await stores.sessions.keys(same)).map(sessionKeyText))
  left.delete(keyText)
  for (const store of [stores.browserStates, stores.remoteSessions])
    for (const other of (await store?.keys(same)) ?? [])
      if (!left.has(sessionKeyText(other))) await store!.remove(other)
  const shared = await stores.sessions.remove(key)
  return { runs, memories, shared }
}

// Runs that earlier versions have stored do not name the `userId` of their callers, but are in the session.
async function removeRuns(stores: Stores, key: SessionKey): Promise<[ids: Set<string>, removed: number]> {
  const ids = await removeEnded(stores, { owner: key.owner, session: key })
  let removed = ids.size
  for await (const runId of enteredRuns(stores, key)) {
    if (ids.has(runId)) continue
    ids.add(runId)
    const run = await stores.runs.find(runId)
    // The messages of webhooks outlive a run that has expired.
    if (run === undefined) await stores.webhooks?.removeRun(runId)
    if (run === undefined || !isTerminalStatus(run.status)) continue
    await removeRun(stores, runId)
    removed++
  }
  return [ids, removed]
}
