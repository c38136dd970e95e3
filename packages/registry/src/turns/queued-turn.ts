import type { RunInput, Runnable, SteeringMessage } from '@svc/contract'
import { defineRunnable } from '../runnables/define-runnable.ts'
import type { CancelHost } from '../engine/cancel-run.ts'
import { placeRun, type PlacedRun } from '../engine/place-run.ts'
import type { QueuedTurn } from '../recovery/resume-run.ts'
import { faultOf, type SteeringHost } from './before-turn.ts'
import { hasJoined, joinRun } from './join-run.ts'
import { activeRun, makeWay } from './make-way.ts'
import { busyWith } from './take-free.ts'

// Of the request that a message comes from which joins a run in the name of its own.
const OF_QUEUE = 'queued'

/** Gives a run its place when a process begins it, as its `whenBusy` says if it waited in the queue until now. @throws RUN_ERR_STORE */
export async function takeQueuedTurn(
  host: SteeringHost & CancelHost,
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
    const active = await steer(host, run, input, place.active)
    if (active !== undefined) return joinedTo(run.runnable, active)
  }
  await placeRun(stores, run)
  if (resumed || (whenBusy !== 'interrupt' && whenBusy !== 'replace')) return {}
  return { begun: () => makeWay(host, run, whenBusy === 'interrupt') }
}

// The run that the message has joined.
async function steer(
  host: SteeringHost,
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
