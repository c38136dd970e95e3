import { setTimeout as pause } from 'node:timers/promises'
import { RUN_ERR_SESSION_BUSY, RUN_ERR_WHEN_BUSY, type RunSummary, type Stores } from '@svc/contract'
import { placeRun, type PlacedRun } from '../engine/place-run.ts'

// Milliseconds between two looks for a run that has its turn, and is being created.
const LOOK_AFTER = 20
const LOOKS = 50

/**
 * Takes the turn of the session for a run that is not created yet, unless it was started before: returns the run with its start key.
 * @throws RUN_ERR_SESSION_BUSY with the `runId` of the run that has the turn
 */
export async function takeFree(stores: Stores, run: PlacedRun): Promise<RunSummary | undefined> {
  const { record } = run
  if (stores.sessions.place === undefined)
    throw new RUN_ERR_WHEN_BUSY('the stores of the service cannot reject a message')
  const findEarlier = () => (record.startKey === null ? undefined : stores.runs.findStarted(record))
  for (let looks = 0; ; looks++) {
    const earlier = await findEarlier()
    if (earlier !== undefined) return earlier
    const place = await placeRun(stores, run, true)
    if (place === undefined || place.position === 0) return undefined
    run.turn = undefined
    // It may be the same request, sent twice.
    const { active } = place
    const isCreated = active === undefined || (await stores.runs.find(active)) !== undefined
    if (record.startKey === null || isCreated || looks === LOOKS) {
      const same = await findEarlier()
      if (same !== undefined) return same
      throw busyWith(active)
    }
    await pause(LOOK_AFTER)
  }
}

/** The error of a start while a run has the turn; undefined: something else has it. */
export function busyWith(runId: string | undefined): Error {
  const err = new RUN_ERR_SESSION_BUSY(runId === undefined ? 'a call' : `run ${runId}`)
  return Object.assign(err, runId !== undefined && { runId })
}
