import { redactStores } from '../redaction/redact-stores.ts'
import {
  isTerminalStatus,
  RUN_ERR_KEY_GONE,
  RUN_ERR_POISONED,
  type RunInput,
  type RunLog,
  type Runnable,
  type RunStatus
} from '@svc/contract'
import { openAnswers } from '../engine/inputs/open-answer.ts'
import { restoreInput } from '../engine/kept-input.ts'
import { LiveRun } from '../engine/live-run.ts'
import type { LiveRuns } from '../engine/live-runs.ts'
import { toRecordedInput } from '../engine/recorded-input.ts'
import type { RunHost, Unloaded } from '../engine/run-host.ts'
import type { StartOptions } from '../engine/start-options.ts'
import { deathsOf, MAX_DEATHS, recordWait } from './deaths.ts'
import { endLeftRun, recallProgress } from './left-runs.ts'
import { readResumeState, toStartOptions } from './resume-state.ts'

/** The parts of the engine that resuming runs needs. */
export interface ResumeHost extends RunHost {
  readonly log: RunLog
  /** Aborts when the engine begins to close. */
  readonly closing: AbortSignal
  /** How often this node was taken for dead, and lost all runs. */
  readonly deaths: number
  readonly live: LiveRuns
  /** False if nothing outlasts the process. */
  readonly durable: boolean
  /** As in `RunEngineOptions`. */
  readonly resumeWithServerKey: boolean
  /** Gives a run its place among the turns of its session. @throws RUN_ERR_STORE */
  takeQueuedTurn(run: LiveRun, input: RunInput): Promise<QueuedTurn>
}

/** What comes of the turn of a run that is begun. */
export interface QueuedTurn {
  /** Why it fails. */
  readonly refusal?: Error
  /** What it executes in the place of its runnable. */
  readonly instead?: Runnable
  /** Called once it has begun. */
  begun?(): Promise<void>
}

/** What a process knows about a run that it has executed before. */
export interface OwnRun {
  readonly options: StartOptions
  /** As in `HostedRun`. */
  readonly losses: number
}

/** What this process has of a run besides what is stored. */
export interface KnownRun {
  /** In the process that started it. */
  readonly own?: OwnRun
  /** Its epoch if this process has leased it. */
  readonly leased?: number | undefined
  /** If this process has unloaded it. */
  readonly unloaded?: Unloaded | undefined
}

// Of runs that wait for an input, or for their turn.
const WAITING: ReadonlySet<RunStatus> = new Set(['input-required', 'submitted'])

/**
 * Leases a run and resumes it from its checkpoint, or ends it if that is not possible; true if it was resumed, false if it has ended or
 * another process has it.
 * @throws RUN_ERR_DAMAGED, RUN_ERR_STORE
 */
export async function resumeRun(
  host: ResumeHost,
  runnable: Runnable,
  runId: string,
  { own, leased, unloaded }: KnownRun = {}
): Promise<boolean> {
  const { stores, maxLogBytes, exposures } = host
  let { deaths } = host
  const state = await readResumeState(stores, runId)
  const end = (how?: 'canceled' | Error) => endLeftRun(stores, runId, how).then(() => false)
  if (state === undefined) return end()
  if (own === undefined && state.keyed && !host.resumeWithServerKey) return end(new RUN_ERR_KEY_GONE())
  const input = await restoreInput(stores, runId, { input: state.input, files: state.files ?? [] })
  if (leased === undefined) ({ deaths } = host)
  const epoch = leased ?? (await stores.runs.lease(runId))
  const stored = epoch === undefined ? undefined : await stores.runs.get(runId)
  if (epoch === undefined || stored === undefined) return false
  if (stored.cancelRequested) return end('canceled')
  const { runs } = redactStores(stores, own?.options.redact)
  const record = { ...stored, epoch, inputs: await openAnswers({ seal: host.seal, runs }, stored) }
  if (own === undefined && (await deathsOf(stores, runId, epoch)) >= MAX_DEATHS)
    return end(new RUN_ERR_POISONED())
  const onlyWaits = own === undefined && unloaded === undefined && epoch > 1 && WAITING.has(stored.status)
  if (onlyWaits) await recordWait(stores, record)
  const recalled = await recallProgress(stores, runId, maxLogBytes, Date.now() - record.createdAt)
  const { onInputRequest } = unloaded ?? {}
  const options = own?.options ?? { ...toStartOptions(record, state, exposures), onInputRequest }
  const earlier = { record, ...recalled, losses: own?.losses, isUnloaded: unloaded !== undefined, onlyWaits }
  const placed = new LiveRun(host, runnable, options, earlier)
  const { refusal, instead, begun } = await host.takeQueuedTurn(placed, input)
  if (refusal !== undefined) return endLeftRun(stores, runId, refusal, epoch).then(() => false)
  const run = instead === undefined ? placed : new LiveRun(host, instead, options, earlier)
  // Another node may have the run by now, and even have ended it: its steps would be repeated.
  if (host.deaths !== deaths) return false
  host.live.enter(run)
  run.begin(input, true, run.writer.begun ? undefined : toRecordedInput(state.input).value)
  host.live.begun(run)
  await begun?.()
  // Its process has not died.
  if (own !== undefined) host.progressed(run)
  await catchUp(host, run)
  return true
}

// What happened since the record was read found no run to deliver to.
async function catchUp({ seal }: ResumeHost, run: LiveRun): Promise<void> {
  const { runs } = run.stores
  const stored = await runs.get(run.runId)
  if (stored === undefined) return
  for (const { inputId, answer } of await openAnswers({ seal, runs }, stored))
    if (answer !== null) await run.inputAnswered(inputId, answer)
  if (stored.cancelRequested && !isTerminalStatus(stored.status)) await run.cancel(stored.leftTurn)
}
