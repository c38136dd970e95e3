import { setTimeout as pause } from 'node:timers/promises'
import { isTerminalStatus, type StoredSteer, type Stores } from '@svc/contract'
import { RUN_ERR_KEY_REUSED, RUN_ERR_STORE } from '@svc/contract/errors'
import type { EngineHost } from '../engine/engine-host.ts'
import { steerOf, steerRun } from './steering.ts'

// Per read: many small parts, or one large one.
const PAGE = { entries: 4_096, bytes: 1_048_576 }
// Milliseconds between two polls for the answer of another process, between two requests to it, and until it is not waited for any more.
const POLL_INTERVAL = 25
const ASK_EVERY = 1_000
const PATIENCE = 30_000

/**
 * Has a message join a run, whichever process has it; resolves once the log has it. False if the run has ended, or takes no more messages.
 * @throws RUN_ERR_KEY_REUSED, RUN_ERR_STORE
 */
export async function joinRun(host: EngineHost, steer: StoredSteer): Promise<boolean> {
  const { stores, live, interrupted } = host
  const { runId, hash } = steer
  await interrupted.moved(runId)
  if (hash !== null || !live.has(runId)) {
    const kept = await stores.runs.offerSteer(steer)
    if (kept === undefined) return false
    if (kept.hash !== hash) throw new RUN_ERR_KEY_REUSED()
    if (kept.runId !== runId) return hasJoined(stores, kept)
  }
  const joined = await joinHere(host, steer)
  if (joined !== undefined) return joined
  return stores.lease === undefined ? hasJoined(stores, steer) : joinElsewhere(stores, steer)
}

/** Has a kept message join a run of this process, and leaves the answer for the process that asks. */
export async function obeySteer(host: EngineHost, runId: string, steerId: string): Promise<void> {
  const { runs } = host.stores
  const steer = await runs.findSteer(steerId)
  const joined = steer && (await joinHere(host, steer))
  const run = host.live.get(runId)
  if (joined !== undefined && run !== undefined)
    await runs.recordStep(runId, run.record.epoch, answerKey(steerId), joined)
}

/** True if the log of the run has the message. */
export async function hasJoined({ log }: Stores, { runId, steerId }: StoredSteer): Promise<boolean> {
  for (let seq = 0; ;) {
    const entries = await log.read(runId, seq, PAGE)
    if (entries.length === 0) return false
    if (entries.some(({ part }) => steerOf(part)?.steerId === steerId)) return true
    seq = entries.at(-1)!.seq
  }
}

// Undefined if this process does not have the run.
async function joinHere(
  { live, interrupted }: EngineHost,
  { runId, steerId, message }: StoredSteer
): Promise<boolean | undefined> {
  await interrupted.moved(runId)
  if (!live.has(runId)) await interrupted.wake(runId)
  const run = live.get(runId)
  if (run === undefined || run.suspended) return undefined
  const joined = await steerRun(run, { steerId, message })
  // Another process continues it.
  return run.suspended ? undefined : joined
}

async function joinElsewhere(stores: Stores, steer: StoredSteer): Promise<boolean> {
  const { runs, control } = stores
  const { runId, steerId } = steer
  const begun = performance.now()
  for (let asked = -Infinity; performance.now() - begun < PATIENCE; await pause(POLL_INTERVAL)) {
    const now = performance.now()
    if (now - asked >= ASK_EVERY) {
      asked = now
      await control.publish({ type: 'steer', runId, steerId })
    }
    const answer = await runs.readStep(runId, answerKey(steerId))
    if (answer !== undefined) return answer.output === true
    const run = await runs.find(runId)
    if (run === undefined || isTerminalStatus(run.status)) return hasJoined(stores, steer)
  }
  throw new RUN_ERR_STORE({ cause: new Error('the process that has the run does not answer') })
}

// No path of a step is like it: those are JSON.
function answerKey(steerId: string): string {
  return `steer ${steerId}`
}
