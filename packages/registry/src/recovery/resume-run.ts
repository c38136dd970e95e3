import {
  RUN_FORMAT,
  ANONYMOUS,
  ClientToolsSchema,
  ConversationSchema,
  defined,
  isTerminalStatus,
  CompactAtSchema,
  StopTextsSchema,
  ToolChoiceSchema,
  WhenBusySchema,
  type Authorize,
  type Awaitable,
  type Envelope,
  type Principal,
  type RunInput,
  type RunLog,
  type Runnable,
  type RunStatus,
  type StoredRun,
  type Stores
} from '@svc/contract'
import { RUN_ERR_KEY_GONE, RUN_ERR_POISONED } from '@svc/contract/errors'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Surfaces } from '../access/surfaces.ts'
import { resolveAuthorize } from '../access/policy.ts'
import { redactFields, redactStores } from '../engine/run-stores.ts'
import { CheckpointFileSchema, restoreInput, toLogInput, type CheckpointInput } from '../engine/run-record.ts'
import type { StartOptions } from '../engine/start-options.ts'
import { openAnswers } from '../engine/inputs/answer-seal.ts'
import { LiveRun } from '../engine/live-run.ts'
import type { LiveRuns } from '../engine/live-runs.ts'
import type { RunHost, Unloaded } from '../engine/run-host.ts'
import { endLeftRun, recallProgress } from './left-runs.ts'

/** A run whose process has died so often without recording a step or an answer is not resumed again. */
const MAX_DEATHS = 5

type LeasedRun = Pick<StoredRun, 'runId' | 'epoch'>

// No step of a runnable has such a key: theirs are JSON.
const progressIn = (epoch: number) => `#lease/${epoch}`
const waitIn = (epoch: number) => `#waits/${epoch}`
const workIn = (epoch: number) => `#works/${epoch}`

/**
 * How many of the last leases of a run, 5 at most, ended with the death of its process, and without progress. A lease in which the run only
 * waited has no part in a death, and ends the count.
 * @param before the epoch of the first lease that does not count
 */
export async function deathsOf({ runs }: Stores, runId: string, before: number): Promise<number> {
  const has = async (key: string) => (await runs.readStep(runId, key)) !== undefined
  for (let deaths = 0; deaths < MAX_DEATHS; deaths++) {
    const epoch = before - 1 - deaths
    if (epoch < 1 || (await has(progressIn(epoch)))) return deaths
    if ((await has(waitIn(epoch))) && !(await has(workIn(epoch)))) return deaths
  }
  return MAX_DEATHS
}

/** Records that a run has made progress under its lease, or that the lease is given up in order. Further calls do nothing. */
export function recordProgress({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, progressIn(epoch), true)
}

/** Records that a run begins its lease as one that only waits, for an input or for its turn. */
function recordWait({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, waitIn(epoch), true)
}

/** Records that such a run begins to work. */
export function recordWork({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, workIn(epoch), true)
}

const ResumeStateSchema = Type.Object({
  input: Type.Optional(Type.Unknown()),
  files: Type.Optional(Type.Array(CheckpointFileSchema)),
  principal: Type.Unsafe<Principal>(
    Type.Object({ sub: Type.String(), scopes: Type.Array(Type.String()) }, { additionalProperties: true })
  ),
  userId: Type.Optional(Type.String()),
  afterTurn: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  envelope: Type.Optional(Type.Unsafe<Envelope>(Type.Object({}))),
  messages: Type.Optional(ConversationSchema),
  instructions: Type.Optional(Type.String()),
  tools: Type.Optional(ClientToolsSchema),
  toolChoice: Type.Optional(ToolChoiceSchema),
  stop: Type.Optional(StopTextsSchema),
  compactAt: Type.Optional(CompactAtSchema),
  compact: Type.Optional(Type.Literal(true)),
  whenBusy: Type.Optional(WhenBusySchema),
  surface: Type.Optional(
    Type.String({ description: 'The surface whose policy decided what the run may reach' })
  ),
  guarded: Type.Boolean({ description: 'Whether the app gave that policy' }),
  keyed: Type.Boolean({ description: 'Whether the caller gave a key for a model provider' })
})
/** The data that another process needs to resume a run, besides its record. Never contains keys of model providers. */
type ResumeState = Static<typeof ResumeStateSchema>

const FROM_CALLER = ['input', 'files', 'envelope', 'messages', 'instructions', 'tools', 'stop'] as const

/** Builds the state, without the caller's keys. The principal is not redacted. */
export function toResumeState(
  { input, files }: CheckpointInput,
  options: StartOptions,
  surfaces: Pick<Surfaces, 'policyOf'>
): ResumeState {
  const { principal = ANONYMOUS, userId, afterTurn, envelope, surface, authorize, redact, whenBusy } = options
  const { messages, instructions, tools, toolChoice, stop, compactAt, compact } = options
  const policy = surface === undefined ? undefined : surfaces.policyOf(surface)
  const state = {
    ...(input !== undefined && { input }),
    ...(files.length > 0 && { files: [...files] }),
    principal,
    ...defined({ userId, afterTurn, envelope }),
    ...(messages !== undefined && { messages: [...messages] }),
    ...(instructions !== undefined && { instructions }),
    ...(tools !== undefined && { tools: [...tools] }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(stop !== undefined && { stop: [...stop] }),
    ...defined({ compactAt, compact, whenBusy, surface }),
    guarded: policy?.isOwn ?? authorize !== undefined,
    keyed: redact !== undefined
  }
  return redact === undefined ? state : redactFields(state, FROM_CALLER, redact)
}

/** Loads the state of a run; undefined if the run cannot be resumed. */
async function readResumeState({ checkpoints }: Stores, runId: string): Promise<ResumeState | undefined> {
  const state = (await checkpoints.load(runId))?.state
  return Value.Check(ResumeStateSchema, state) ? state : undefined
}

const refuse: Authorize = () => ({ allowed: false })

/**
 * The options that a run resumes with: the service's own keys, and the policy of the surface that started it. If that surface
 * is gone, a run that the app's policy guarded is guarded by the app's default, and may reach nothing without one.
 */
function toStartOptions(
  { sessionId, registry }: Pick<StoredRun, 'sessionId' | 'registry'>,
  { input: _, files: __, guarded, ...asked }: ResumeState,
  surfaces: Pick<Surfaces, 'policyOf' | 'policy'>
): StartOptions {
  const policy = asked.surface === undefined ? undefined : surfaces.policyOf(asked.surface)
  const { authorize: fallback = refuse } = surfaces.policy
  const authorize = policy?.authorize ?? (guarded ? resolveAuthorize(fallback) : undefined)
  return { ...asked, registry, sessionId, authorize }
}

/** The parts of the engine that resuming runs needs. */
export interface ResumeHost extends RunHost {
  readonly surfaces: Surfaces
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
interface OwnRun {
  readonly options: StartOptions
  /** As in `HostedRun`. */
  readonly losses: number
}

/** What this process has of a run besides what is stored. */
interface KnownRun {
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
  const { stores, maxLogBytes, surfaces } = host
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
  if (stored.format > RUN_FORMAT) {
    // It came from the queue.
    await stores.lease?.release(runId)
    return false
  }
  if (stored.cancelRequested) return end('canceled')
  const { runs } = redactStores(stores, own?.options.redact)
  const record = { ...stored, epoch, inputs: await openAnswers({ seal: host.seal, runs }, stored) }
  if (own === undefined && (await deathsOf(stores, runId, epoch)) >= MAX_DEATHS)
    return end(new RUN_ERR_POISONED())
  const onlyWaits = own === undefined && unloaded === undefined && epoch > 1 && WAITING.has(stored.status)
  if (onlyWaits) await recordWait(stores, record)
  const recalled = await recallProgress(stores, runId, maxLogBytes, Date.now() - record.createdAt)
  const { onInputRequest } = unloaded ?? {}
  const options = own?.options ?? { ...toStartOptions(record, state, surfaces), onInputRequest }
  const earlier = { record, ...recalled, losses: own?.losses, isUnloaded: unloaded !== undefined, onlyWaits }
  const placed = new LiveRun(host, runnable, options, earlier)
  const { refusal, instead, begun } = await host.takeQueuedTurn(placed, input)
  if (refusal !== undefined) return endLeftRun(stores, runId, refusal, epoch).then(() => false)
  const run = instead === undefined ? placed : new LiveRun(host, instead, options, earlier)
  // Another node may have the run by now, and even have ended it: its steps would be repeated.
  if (host.deaths !== deaths) {
    placed.turn?.leave(true)
    return false
  }
  host.live.enter(run)
  run.begin(input, true, run.writer.begun ? undefined : toLogInput(state.input).value)
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
