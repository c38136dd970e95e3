import { nextTurn, type OwnedRunQuery, type SessionKey, type Stores } from '@svc/contract'
import { PAGE } from './end-runs.ts'

/** Removes a run with its log, files, task and messages of webhooks. One per turn of the event loop: large runs must not block it. */
export async function removeRun({ runs, webhooks }: Stores, runId: string): Promise<void> {
  await nextTurn()
  await webhooks?.removeRun(runId)
  await runs.remove(runId)
}

/** Removes the ended runs of a person, or of one session; returns their ids. */
export async function removeEnded(
  stores: Stores,
  { owner, session }: Pick<OwnedRunQuery, 'owner' | 'session'>
): Promise<Set<string>> {
  const query = { owner, unfinished: false, limit: PAGE, ...(session && { session }) }
  const removed = new Set<string>()
  for (;;) {
    const runIds = await stores.runs.listOwned(query)
    for (const runId of runIds) {
      await removeRun(stores, runId)
      removed.add(runId)
    }
    if (runIds.length < PAGE) return removed
  }
}

/** The ids of the runs that entered a session; they may have been removed. */
export async function* enteredRuns({ sessionIndex }: Stores, key: SessionKey): AsyncGenerator<string, void> {
  for (let after = 0; ;) {
    const entered = (await sessionIndex?.runs(key, after, PAGE)) ?? []
    for (const { ordinal, runId } of entered) {
      after = ordinal
      yield runId
    }
    if (entered.length < PAGE) return
  }
}
