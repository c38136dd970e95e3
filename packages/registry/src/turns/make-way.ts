import { setTimeout as pause } from 'node:timers/promises'
import { isTerminalStatus, type RunSummary, type Stores } from '@svc/contract'
import { cancelFor, type CancelHost } from '../engine/cancel-run.ts'
import { sessionOwnerOf, type PlacedRun } from '../engine/place-run.ts'

// Milliseconds between two looks for a run that has its turn, and is being created.
const LOOK_AFTER = 20
const LOOKS = 50

/**
 * The run of the same session that has the turn before another run; undefined if it has ended, or if the turn belongs to a part of
 * another runnable's run, such as a call or a team.
 */
export async function activeRun(
  { runs }: Stores,
  { record }: Pick<PlacedRun, 'record'>,
  active: string | undefined
): Promise<RunSummary | undefined> {
  if (active === undefined) return undefined
  let found = await runs.find(active)
  for (let looks = 0; found === undefined && looks < LOOKS; looks++) {
    await pause(LOOK_AFTER)
    found = await runs.find(active)
  }
  if (found === undefined || isTerminalStatus(found.status)) return undefined
  const { registry, kind, name, sessionId } = record
  const isSame = found.registry === registry && found.kind === kind && found.name === name
  return isSame && found.sessionId === sessionId ? found : undefined
}

/**
 * Cancels the run that has the turn before an accepted run, which keeps its place. A turn that belongs to a part of another runnable's
 * run, such as a call or a team, is waited for instead.
 * @param keep whether the session keeps what the canceled run has said so far
 * @throws RUN_ERR_STORE
 */
export async function makeWay(host: CancelHost, run: PlacedRun, keep: boolean): Promise<void> {
  const active = await activeRun(host.stores, run, run.turn?.placed.active)
  if (active !== undefined) await cancelFor(host, active.runId, { owner: sessionOwnerOf(run.options), keep })
}
