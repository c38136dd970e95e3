import { setTimeout as pause } from 'node:timers/promises'
import { isTerminalStatus } from '../../contract/run-record.ts'
import type { RunSummary } from '../../contract/ports/run-store.ts'
import { cancelFor, type CancelHost } from '../cancel-run.ts'
import { sessionOwnerOf, type PlacedRun } from '../place-run.ts'

// Milliseconds between two looks for a run that has its turn, and is being created.
const LOOK_AFTER = 20
const LOOKS = 50

/**
 * Cancels the run that has the turn before an accepted run, which keeps its place. A turn that belongs to a part of another runnable's
 * run, such as a call or a team, is waited for instead.
 * @param keep whether the session keeps what the canceled run has said so far
 */
export async function makeWay(host: CancelHost, run: PlacedRun, keep: boolean): Promise<void> {
  const active = await findActive(host, run)
  if (active === undefined || isTerminalStatus(active.status)) return
  const { registry, kind, name, sessionId } = run.record
  const isSame = active.registry === registry && active.kind === kind && active.name === name
  if (!isSame || active.sessionId !== sessionId) return
  await cancelFor(host, active.runId, { owner: sessionOwnerOf(run.options), keep })
}

async function findActive({ stores }: CancelHost, { turn }: PlacedRun): Promise<RunSummary | undefined> {
  const active = turn?.placed.active
  if (active === undefined) return undefined
  for (let looks = 0; looks < LOOKS; looks++) {
    const found = await stores.runs.find(active)
    if (found !== undefined) return found
    await pause(LOOK_AFTER)
  }
  return undefined
}
