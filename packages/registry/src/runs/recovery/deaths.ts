import type { StoredRun } from '../../contract/ports/run-store.ts'
import type { Stores } from '../../contract/ports/stores.ts'
import type { HostedRun } from '../run-host.ts'
import type { RecalledLog } from './recalled-log.ts'
import { readResumeState, type ResumeState } from './resume-state.ts'

/** A run whose process has died so often since its last recorded step or answer is not resumed again. */
const MAX_DEATHS = 5

/**
 * Counts the death of the process that executed a run; false if it was the last one allowed. A run that was left in order has not died.
 * The steps of workflows are not in the log, so that theirs are not counted.
 */
export async function survivesDeath(
  { checkpoints }: Stores,
  { runId, epoch, kind }: StoredRun,
  state: ResumeState,
  { progress }: RecalledLog
): Promise<boolean> {
  if (kind === 'workflow') return true
  const { count = 0, since = 0, left = false } = state.deaths ?? {}
  const deaths = (since === progress ? count : 0) + (left ? 0 : 1)
  if (deaths >= MAX_DEATHS) return false
  await checkpoints.save(runId, epoch, { ...state, deaths: { count: deaths, since: progress, left: false } })
  return true
}

/** Marks a run as left in order, for another process or for later. */
export async function leftInOrder(stores: Stores, { runId, record }: HostedRun): Promise<void> {
  if (record.kind === 'workflow') return
  const state = await readResumeState(stores, runId)
  if (state === undefined) return
  const { since = 0 } = state.deaths ?? {}
  await stores.checkpoints.save(runId, record.epoch, { ...state, deaths: { count: 0, since, left: true } })
}
