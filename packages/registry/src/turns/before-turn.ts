import { hash } from 'node:crypto'
import {
  randomId,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_WHEN_BUSY,
  type RunInput,
  type RunSummary,
  type SteeringMessage,
  type StoredRun,
  type StoredSteer,
  type WhenBusy
} from '@svc/contract'
import { placeRun, type PlacedRun } from '../engine/place-run.ts'
import type { StartOptions } from '../engine/start-options.ts'
import { hasJoined, joinRun, type JoinHost } from './join-run.ts'
import { activeRun } from './make-way.ts'
import { takeFree } from './take-free.ts'

/** The run that a start has found instead of its own: one with the same start key, or one that its message has joined. */
export interface FoundRun {
  readonly run: RunSummary
  readonly joined: boolean
}

/** What joins runs here. */
export interface SteeringHost extends JoinHost {
  /** False if nothing of a message may be stored. */
  readonly record: { readonly input: boolean }
}

/**
 * What `reject` and `steer` do before a run is created; undefined if it is to be created.
 * @throws RUN_ERR_SESSION_BUSY, RUN_ERR_WHEN_BUSY, RUN_ERR_KEY_REUSED, RUN_ERR_STORE
 */
export async function beforeTurn(
  host: SteeringHost,
  run: PlacedRun,
  input: RunInput,
  whenBusy: WhenBusy
): Promise<FoundRun | undefined> {
  if (whenBusy === 'steer') return steer(host, run, input)
  if (run.options.sessionId === undefined) return undefined
  const earlier = await takeFree(host.stores, run)
  return earlier && { run: earlier, joined: false }
}

async function steer(host: SteeringHost, run: PlacedRun, input: RunInput): Promise<FoundRun | undefined> {
  const { stores } = host
  const { options, record, runnable } = run
  const fault = faultOf(input, options)
  if (fault !== undefined) {
    if (options.whenBusy === 'steer') throw new RUN_ERR_WHEN_BUSY(fault)
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
  const joined = await joinRun(host, toSteer(record, active.runId, input as SteeringMessage, options))
  return joined ? { run: active, joined } : undefined
}

/**
 * As `RunEngine.steer`.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_WHEN_BUSY, RUN_ERR_KEY_REUSED, RUN_ERR_STORE
 */
export async function steerByRequest(
  host: SteeringHost,
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
async function findBefore({ stores }: SteeringHost, record: StoredRun): Promise<FoundRun | undefined> {
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
export function faultOf(
  input: RunInput,
  { instructions, tools, toolChoice, stop, afterTurn }: StartOptions
): string | undefined {
  if (afterTurn !== undefined) return 'a message that joins a run continues after no other turn'
  if ([instructions, tools, toolChoice, stop].some((given) => given !== undefined))
    return 'a message that joins a run has no instructions, tools, toolChoice or stop'
  if (typeof input === 'string' || (Array.isArray(input) && input.every(isText))) return undefined
  return 'a message that joins a run has texts only, no files'
}

function isText(part: unknown): boolean {
  return (part as { type?: unknown } | null)?.type === 'text'
}
