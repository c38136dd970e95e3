import { setTimeout as pause } from 'node:timers/promises'
import { hash } from 'node:crypto'
import {
  AfterTurnSchema,
  ANONYMOUS,
  checkOf,
  isRefusedStart,
  isTerminalStatus,
  randomId,
  type RunInput,
  type Runnable,
  type RunSummary,
  type SteeringMessage,
  type StoredRun,
  type StoredSteer,
  type Stores,
  type WhenBusy
} from '@svc/contract'
import {
  RUN_ERR_KEY_REUSED,
  RUN_ERR_NO_TURN,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_SESSION_BUSY,
  RUN_ERR_STORE,
  RUN_ERR_WHEN_BUSY
} from '@svc/contract/errors'
import type { StartOptions } from '../engine/start-options.ts'
import type { RegistryIds } from '../engine/run-host.ts'
import { placeRun, sessionOwnerOf, type PlacedRun } from './run-turn.ts'
import { badInput } from '../engine/prepare-start.ts'
import type { EngineHost } from '../engine/engine-host.ts'
import { cancelFor } from '../engine/cancel-run.ts'
import { hasJoined, joinRun } from './join-run.ts'
import { defineRunnable } from '../runnables/define-runnable.ts'
import type { QueuedTurn } from '../recovery/resume-run.ts'

const isTurn = checkOf(AfterTurnSchema)

/**
 * Checks the turn that a caller named: its session has it, or the run was started before.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_WHEN_BUSY, RUN_ERR_NO_TURN, RUN_ERR_STORE
 */
export async function requireAfterTurn(
  { stores, surfaces }: { stores: Stores; surfaces: RegistryIds },
  runnable: Runnable,
  options: StartOptions
): Promise<void> {
  const { afterTurn, sessionId, startKey, principal = ANONYMOUS } = options
  if ((options.whenBusy ?? runnable.whenBusy) === 'steer')
    throw new RUN_ERR_WHEN_BUSY('"steer" joins the run under way, and continues after no other turn')
  if (!isTurn(afterTurn)) throw refuse('must be the id of a run, or null')
  if (sessionId === undefined) throw refuse('must be left out without sessionId')
  const { kind, name, takesTurns } = runnable
  if (takesTurns !== true || stores.sessions.hasTurn === undefined)
    throw refuse(`must be left out: runs of the ${kind} "${name}" take no turns of a session`)
  if (afterTurn === null) return
  const registry = options.registry ?? surfaces.registryOf(runnable)
  const key = { registry, kind, name, sessionId, owner: sessionOwnerOf(options) }
  try {
    if (await stores.sessions.hasTurn(key, afterTurn)) return
    if (startKey === undefined) throw new RUN_ERR_NO_TURN(afterTurn)
    const started = await stores.runs.findStarted({ registry, owner: principal.sub, startKey })
    if (started === undefined) throw new RUN_ERR_NO_TURN(afterTurn)
  } catch (err) {
    throw isRefusedStart(err) ? err : new RUN_ERR_STORE({ cause: err })
  }
}

function refuse(message: string): Error {
  return badInput([{ path: 'afterTurn', message }])
}

// Milliseconds between two polls for a run that has its turn, and is being created.
const POLL_INTERVAL = 20
const MAX_POLLS = 50

/**
 * The run of the same session that has the turn before another run; undefined if it has ended, or if the turn belongs to a part of
 * another runnable's run, such as a call or a team.
 */
async function activeRun(
  { runs }: Stores,
  { record }: Pick<PlacedRun, 'record'>,
  active: string | undefined
): Promise<RunSummary | undefined> {
  if (active === undefined) return undefined
  let found = await runs.find(active)
  for (let polls = 0; found === undefined && polls < MAX_POLLS; polls++) {
    await pause(POLL_INTERVAL)
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
export async function cancelActive(host: EngineHost, run: PlacedRun, keep: boolean): Promise<void> {
  const active = await activeRun(host.stores, run, run.turn?.placed.active)
  if (active !== undefined) await cancelFor(host, active.runId, { owner: sessionOwnerOf(run.options), keep })
}

/**
 * Takes the turn of the session for a run that is not created yet, unless it was started before: returns the run with its start key.
 * @throws RUN_ERR_SESSION_BUSY with the `runId` of the run that has the turn
 */
async function takeTurnIfFree(stores: Stores, run: PlacedRun): Promise<RunSummary | undefined> {
  const { record } = run
  if (stores.sessions.place === undefined)
    throw new RUN_ERR_WHEN_BUSY('the stores of the service cannot reject a message')
  const findEarlier = () => (record.startKey === null ? undefined : stores.runs.findStarted(record))
  for (let polls = 0; ; polls++) {
    const earlier = await findEarlier()
    if (earlier !== undefined) return earlier
    const place = await placeRun(stores, run, true)
    if (place === undefined || place.position === 0) return undefined
    run.turn = undefined
    // It may be the same request, sent twice.
    const { active } = place
    const isCreated = active === undefined || (await stores.runs.find(active)) !== undefined
    if (record.startKey === null || isCreated || polls === MAX_POLLS) {
      const same = await findEarlier()
      if (same !== undefined) return same
      throw busyWith(active)
    }
    await pause(POLL_INTERVAL)
  }
}

/** The error of a start while a run has the turn; undefined: something else has it. */
function busyWith(runId: string | undefined): Error {
  const err = new RUN_ERR_SESSION_BUSY(runId === undefined ? 'a call' : `run ${runId}`)
  return Object.assign(err, runId !== undefined && { runId })
}

/** The run that a start has found instead of its own: one with the same start key, or one that its message has joined. */
export interface FoundRun {
  readonly run: RunSummary
  readonly joined: boolean
}

/**
 * What `reject` and `steer` do before a run is created; undefined if it is to be created.
 * @throws RUN_ERR_SESSION_BUSY, RUN_ERR_WHEN_BUSY, RUN_ERR_KEY_REUSED, RUN_ERR_STORE
 */
export async function beforeTurn(
  host: EngineHost,
  run: PlacedRun,
  input: RunInput,
  whenBusy: WhenBusy
): Promise<FoundRun | undefined> {
  if (whenBusy === 'steer') return steer(host, run, input)
  if (run.options.sessionId === undefined) return undefined
  const earlier = await takeTurnIfFree(host.stores, run)
  return earlier && { run: earlier, joined: false }
}

async function steer(host: EngineHost, run: PlacedRun, input: RunInput): Promise<FoundRun | undefined> {
  const { stores } = host
  const { options, record, runnable } = run
  const fault = faultOf(input, options)
  if (fault !== undefined) {
    if (options.whenBusy === 'steer' && options.ofSession !== true) throw new RUN_ERR_WHEN_BUSY(fault)
    return undefined
  }
  if (options.sessionId === undefined || runnable.steerable !== true || !host.record.input) return undefined
  if (stores.sessions.place === undefined) return undefined
  const before = await findBefore(host, record)
  if (before !== undefined) return before
  const place = await placeRun(stores, run, true)
  if (place === undefined || place.position === 0) return undefined
  run.turn = undefined
  const active = await activeRun(stores, run, place.active)
  if (active === undefined) return undefined
  // It may be the same request, sent twice.
  const same = await findBefore(host, record)
  if (same !== undefined) return same
  const joined = await joinRun(host, toSteer(record, active.runId, input as SteeringMessage, options))
  return joined ? { run: active, joined } : undefined
}

/**
 * As `RunEngine.steer`.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_WHEN_BUSY, RUN_ERR_KEY_REUSED, RUN_ERR_STORE
 */
export async function steerByRequest(
  host: EngineHost,
  runId: string,
  message: RunInput,
  options: Pick<StartOptions, 'startKey' | 'redact'>
): Promise<boolean> {
  const found = await host.stores.runs.find(runId)
  if (found === undefined) throw new RUN_ERR_NOT_FOUND(runId)
  const fault = faultOf(message, options)
  if (fault !== undefined) throw new RUN_ERR_WHEN_BUSY(fault)
  if (!host.record.input) return false
  const { registry, owner } = found
  const from = { registry, owner, startKey: options.startKey ?? null }
  return joinRun(host, toSteer(from, runId, message as SteeringMessage, options))
}

type From = Pick<StoredRun, 'registry' | 'owner' | 'startKey'>

// The request may have been sent before: it has begun a run, or joined one.
async function findBefore({ stores }: EngineHost, record: StoredRun): Promise<FoundRun | undefined> {
  const { startKey } = record
  if (startKey === null) return undefined
  const earlier = await stores.runs.findStarted(record)
  if (earlier !== undefined) return { run: earlier, joined: false }
  const kept = await stores.runs.findSteer(steerIdOf(record))
  if (kept === undefined) return undefined
  if (kept.hash !== startKey.hash) throw new RUN_ERR_KEY_REUSED()
  const run = (await hasJoined(stores, kept)) ? await stores.runs.find(kept.runId) : undefined
  return run && { run, joined: true }
}

function toSteer(
  from: From,
  runId: string,
  message: SteeringMessage,
  { redact }: Pick<StartOptions, 'redact'>
): StoredSteer {
  const clean = redact === undefined ? message : redact(message)
  return { steerId: steerIdOf(from), runId, hash: from.startKey?.hash ?? null, message: clean }
}

// The same request has the same id.
function steerIdOf({ registry, owner, startKey }: From): string {
  if (startKey === null) return randomId()
  return hash('sha256', JSON.stringify([registry, owner, startKey.key]), 'base64url')
}

/** Why a message cannot join a run, if so. */
function faultOf(
  input: RunInput,
  { instructions, tools, toolChoice, stop, compactAt, afterTurn, ofSession }: StartOptions
): string | undefined {
  if (afterTurn !== undefined) return 'a message that joins a run continues after no other turn'
  const own =
    ofSession === true ? [toolChoice, stop, compactAt] : [instructions, tools, toolChoice, stop, compactAt]
  if (own.some((given) => given !== undefined))
    return 'a message that joins a run has no instructions, tools, toolChoice, stop or compactAt'
  if (typeof input === 'string' || (Array.isArray(input) && input.every(isText))) return undefined
  return 'a message that joins a run has texts only, no files'
}

function isText(part: unknown): boolean {
  return (part as { type?: unknown } | null)?.type === 'text'
}

// Of the request that a message comes from which joins a run in the name of its own.
const OF_QUEUE = 'queued'

/** Gives a run its place when a process begins it, as its `whenBusy` says if it waited in the queue until now. @throws RUN_ERR_STORE */
export async function takeQueuedTurn(
  host: EngineHost,
  run: PlacedRun & { readonly resumed: boolean },
  input: RunInput
): Promise<QueuedTurn> {
  const { stores } = host
  const { options, record, resumed } = run
  const { whenBusy } = options
  if (whenBusy === 'steer') {
    const kept = resumed ? await stores.runs.findSteer(record.runId) : undefined
    if (kept !== undefined && (await hasJoined(stores, kept))) return joinedTo(run.runnable, kept.runId)
  }
  if (!resumed && (whenBusy === 'reject' || whenBusy === 'steer')) {
    const place = await placeRun(stores, run, true)
    if (place === undefined || place.position === 0) return {}
    run.turn = undefined
    if (whenBusy === 'reject') return { refusal: busyWith(place.active) }
    const active = await steerQueued(host, run, input, place.active)
    if (active !== undefined) return joinedTo(run.runnable, active)
  }
  await placeRun(stores, run)
  if (resumed || (whenBusy !== 'interrupt' && whenBusy !== 'replace')) return {}
  return { begun: () => cancelActive(host, run, whenBusy === 'interrupt') }
}

// The run that the message has joined.
async function steerQueued(
  host: EngineHost,
  run: PlacedRun,
  input: RunInput,
  first: string | undefined
): Promise<string | undefined> {
  if (run.runnable.steerable !== true || !host.record.input || faultOf(input, run.options) !== undefined)
    return undefined
  const active = await activeRun(host.stores, run, first)
  if (active === undefined) return undefined
  const { runId } = active
  const message = input as SteeringMessage
  return (await joinRun(host, { steerId: run.record.runId, runId, hash: OF_QUEUE, message }))
    ? runId
    : undefined
}

// All that a run executes whose message has joined another one.
function joinedTo({ kind, name }: Runnable, runId: string): QueuedTurn {
  async function* stream() {
    yield { type: 'data', name: 'joined', value: { runId } } as const
  }
  return { instead: defineRunnable({ kind, name, resumable: true, stream }) }
}
