import { isTerminalStatus, type LeftTurn } from '@svc/contract'
import { RUN_ERR_TERMINAL } from '@svc/contract/errors'
import type { EngineHost } from './engine-host.ts'
import { AFTER_ALL, readEntries } from './log/log-reader.ts'
import { endLeftRun } from '../recovery/left-runs.ts'

// Milliseconds in which another node is expected to end the run.
const ENDS_WITHIN = 2_000

/**
 * Ends a run of this process as canceled; false if it is not one, or has ended.
 * @param left how it leaves its turn, if a later message of its session has it canceled
 * @throws RUN_ERR_STORE
 */
export async function cancelHere(
  { live, interrupted, lostRuns }: EngineHost,
  runId: string,
  left?: LeftTurn | null
): Promise<boolean> {
  await interrupted.moved(runId)
  return (
    ((await live.get(runId)?.cancel(left)) ?? false) ||
    (await lostRuns.cancel(runId)) ||
    (await interrupted.cancel(runId))
  )
}

/** Cancels a run of this process as its record says. */
export async function obeyCancel(host: EngineHost, runId: string): Promise<void> {
  const record = host.live.has(runId) ? await host.stores.runs.find(runId) : undefined
  await cancelHere(host, runId, record?.leftTurn)
}

/** Cancels a run for a later message of its session, without waiting for another process to end it. @throws RUN_ERR_STORE */
export async function cancelFor(host: EngineHost, runId: string, left: LeftTurn): Promise<void> {
  const { runs, control, lease } = host.stores
  // First, so that a crash cannot lose how the run leaves its turn.
  if (!(await runs.requestCancel(runId, left))) return
  const record = await runs.find(runId)
  if ((await cancelHere(host, runId, record?.leftTurn)) || host.live.has(runId)) return
  if (lease !== undefined && (await endLeftRun(host.stores, runId, 'canceled'))) return
  await control.publish({ type: 'cancel', runId })
}

/**
 * Cancels a run that this process does not have, and waits a moment for its end. Whichever process has the run ends it: now, or when
 * it takes the run over.
 * @throws RUN_ERR_TERMINAL if it has ended in another way
 */
export async function cancelElsewhere(host: EngineHost, runId: string): Promise<void> {
  const { runs, control, lease, queue } = host.stores
  const statusNow = async () => (await runs.find(runId))?.status ?? 'canceled'
  if (!(await runs.requestCancel(runId))) throw new RUN_ERR_TERMINAL(await statusNow())
  const withdrawn = await queue?.withdraw(runId)
  if (withdrawn !== undefined) return void (await endLeftRun(host.stores, runId, 'canceled', withdrawn))
  // A run whose node has died belongs to no node.
  if (lease !== undefined && (await endLeftRun(host.stores, runId, 'canceled'))) return
  await control.publish({ type: 'cancel', runId })
  if (lease === undefined) return
  for await (const _ of readEntries(host, runId, AFTER_ALL, AbortSignal.timeout(ENDS_WITHIN)));
  const status = await statusNow()
  if (status !== 'canceled' && isTerminalStatus(status)) throw new RUN_ERR_TERMINAL(status)
}
