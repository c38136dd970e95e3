import {
  ANONYMOUS,
  codeOf,
  isPromise,
  isRefusedStart,
  toLoggable,
  type Awaitable,
  type RunInput,
  type Runnable,
  type RunSummary,
  type StoredRun,
  type WhenBusy
} from '@svc/contract'
import {
  RUN_ERR_DRAINING,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_NO_LEASE,
  RUN_ERR_NOT_QUEUEABLE,
  RUN_ERR_STORE
} from '@svc/contract/errors'
import { requireQueueable, toQueuedStart, watchInputs } from '../queue/queued-runs.ts'
import type { Checkpoint } from '../recovery/interrupted-runs.ts'
import { endLeftRun } from '../recovery/left-runs.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'
import { beforeTurn, cancelActive, requireAfterTurn } from '../turns/before-turn.ts'
import { awaitsPlace, enterSession, placeRun, whenBusyOf } from '../turns/run-turn.ts'
import type { EngineHost } from './engine-host.ts'
import { LiveRun } from './live-run.ts'
import { prepareStart } from './prepare-start.ts'
import {
  keepFiles,
  toCheckpointInput,
  newRun,
  toLogInput,
  type CheckpointInput,
  type LogInput
} from './run-record.ts'
import { ReplayedRun } from './replayed-run.ts'
import type { Run } from './run-engine.ts'
import type { StartOptions } from './start-options.ts'

/** A start that was checked. */
interface Start {
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly input: RunInput
  /** The input as the log has it; undefined if none is recorded. */
  readonly logInput: LogInput | undefined
  readonly whenBusy: WhenBusy
}

/**
 * Starts a run, step by step; resolves once its record is stored. What the steps have done is undone unless the store has the run in
 * the end. Without an earlier run, files or a store that takes time, no step is waited for.
 * @throws as `RunEngine.start`
 */
export async function startRun(
  engine: EngineHost,
  runnable: Runnable,
  input: RunInput,
  options: StartOptions
): Promise<Run> {
  const start = prepare(engine, runnable, input, options)
  if (options.afterTurn !== undefined) await requireAfterTurn(engine, runnable, options)
  if (engine.stores.lease?.held === false) throw new RUN_ERR_NO_LEASE()
  if (options.queue ?? runnable.queue) return enqueue(engine, start)
  const webhook = options.webhook && (await engine.webhooks.prepare(options.webhook, options.redact))
  const refusal = engine.live.refusal((options.principal ?? ANONYMOUS).sub)
  if (refusal !== undefined) return repeat(engine, start, refusal.error)
  const run = new LiveRun(engine, runnable, start.options)
  let done: Undo = { run }
  let placing: Awaitable<unknown>
  try {
    engine.live.enter(run)
    const other = givesWay(start) ? await beforeTurn(engine, run, start.input, start.whenBusy) : undefined
    if (other?.joined) return new ReplayedRun(engine, await undo(engine, done, other.run), 'joined')
    if (other !== undefined) return replay(engine, await undo(engine, done, other.run), options)
    if (webhook !== undefined) done = { run, webhook: await engine.webhooks.add(run.record, webhook) }
    if (beginsAtOnce(engine, run, start)) run.record.status = 'working'
    const created = create(engine, run)
    placing = placeNew(engine, run, created)
    let checkpoint = checkpointEarly(engine, run, start, created)
    // From then on the webhook reports how the run ends.
    if (webhook !== undefined && (await created) === undefined) done = NOTHING
    const earlier = mayDiffer(engine, run) ? await created : undefined
    if (earlier !== undefined) {
      await settled(placing)
      return replay(engine, await undo(engine, done, earlier), options)
    }
    const keeping = toCheckpointInput(run, start.input, start.logInput, engine.record.files, created)
    const checkpointInput = isPromise(keeping) ? await keeping : keeping
    if (checkpointInput !== undefined && !run.ended && isResumable(engine, run))
      checkpoint ??= engine.interrupted.keep(run, checkpointInput)
    // Whether it is queued stands in its first part.
    if (isPromise(placing)) await placing
    if (!run.ended) {
      run.begin(start.input, checkpoint !== undefined, start.logInput?.value)
      if (isPromise(created)) await created
      run.created = undefined
      if (isPromise(checkpoint?.saved)) await checkpoint.saved
      engine.live.begun(run)
    }
    done = NOTHING
    if (makesWay(start) && !run.ended) await cancelActive(engine, run, start.whenBusy === 'interrupt')
    return run
  } catch (err) {
    const isRefused = isRefusedStart(err)
    // A place that is given later would be kept.
    await settled(placing)
    if (!isRefused) await run.refuse(new RUN_ERR_STORE({ cause: err }))
    await undo(engine, done)
    if (codeOf(err) === 'RUN_ERR_TOO_MANY_RUNS') engine.live.refusals.add(run.record.owner)
    throw isRefused ? err : new RUN_ERR_STORE({ cause: err })
  }
}

function prepare(
  { record }: EngineHost,
  runnable: Runnable,
  ...start: [input: RunInput, options: StartOptions]
): Start {
  const { input, options } = prepareStart(runnable, ...start)
  const logInput = record.input ? toLogInput(input) : undefined
  return { runnable, options, input, logInput, whenBusy: whenBusyOf(runnable, options) }
}

// At a limit, a repeated start still gets its run.
async function repeat(engine: EngineHost, { runnable, options }: Start, refusal: Error): Promise<Run> {
  const { startKey, principal = ANONYMOUS, registry = engine.surfaces.registryOf(runnable) } = options
  if (startKey === undefined) throw refusal
  const earlier = await engine.stores.runs.findStarted({ registry, owner: principal.sub, startKey })
  if (earlier === undefined) throw refusal
  return replay(engine, earlier, options)
}

function replay(engine: EngineHost, earlier: RunSummary, { startKey }: StartOptions): Run {
  if (earlier.startKey?.hash !== startKey?.hash) throw new RUN_ERR_KEY_REUSED()
  return new ReplayedRun(engine, earlier)
}

// To another run of the session.
function givesWay({ whenBusy }: Start): boolean {
  return whenBusy === 'reject' || whenBusy === 'steer'
}

function create({ stores, live }: EngineHost, run: LiveRun): Awaitable<RunSummary | undefined> {
  const created = stores.runs.create(run.record, live.limitInStore(stores, run.record.owner))
  if (isPromise(created)) run.created = created
  return created
}

// Its files are kept first, and its turn may be that of another run, unless the store then knows better.
function beginsAtOnce({ stores }: EngineHost, run: LiveRun, { logInput }: Start): boolean {
  if (logInput !== undefined && logInput.contents.length > 0) return false
  return stores.sessions.placesNewRuns === true || !awaitsPlace(stores, run)
}

// Before anything is answered. One process knows that the run is new when it is created; several give it its place in the same transaction.
function placeNew(
  { stores }: EngineHost,
  run: LiveRun,
  created: Awaitable<RunSummary | undefined>
): Awaitable<unknown> {
  const place = (earlier?: RunSummary) =>
    earlier !== undefined || run.turn !== undefined || run.ended ? undefined : placeRun(stores, run)
  if (!isPromise(created)) return place(created)
  const placing = stores.sessions.placesNewRuns ? place() : created.then(place)
  // Whether it was given is looked at later.
  void settled(placing)
  return placing
}

async function settled(placing: Awaitable<unknown>): Promise<void> {
  await Promise.allSettled([placing])
}

// With the creation: the answer to a start may get lost, and its repetition must find a run that can be resumed.
function checkpointEarly(
  engine: EngineHost,
  run: LiveRun,
  { input, logInput }: Start,
  created: Awaitable<unknown>
): Checkpoint | undefined {
  run.resumable = isPromise(created) && logInput?.contents.length === 0 && isResumable(engine, run)
  return run.resumable ? engine.interrupted.keep(run, { input, files: [] }) : undefined
}

/** True if another process may resume a run that is started. A workflow is resumed whatever its client does. */
function isResumable({ durable }: EngineHost, { runnable, options }: LiveRun): boolean {
  const { kind, resumable } = runnable
  return resumable === true && (kind === 'workflow' || (durable && options.onDisconnect !== 'cancel'))
}

// Only these starts may be refused by the store, or have an earlier run.
function mayDiffer({ stores, live }: EngineHost, { options, record }: LiveRun): boolean {
  return options.startKey !== undefined || live.limitInStore(stores, record.owner) !== undefined
}

function makesWay({ whenBusy }: Start): boolean {
  return whenBusy === 'interrupt' || whenBusy === 'replace'
}

/**
 * Puts a new run into the queue, from which any process may begin it.
 * @throws RUN_ERR_DRAINING, RUN_ERR_NOT_QUEUEABLE, RUN_ERR_LOG_LIMIT, RUN_ERR_STORE
 */
async function enqueue(engine: EngineHost, { runnable, options, input, logInput }: Start): Promise<Run> {
  const { stores, interrupted, log, webhooks } = engine
  if (engine.draining) throw new RUN_ERR_DRAINING()
  if (stores.queue === undefined) throw new RUN_ERR_NOT_QUEUEABLE('the stores have no queue')
  requireQueueable(runnable, options, logInput, engine.record)
  const webhook = options.webhook && (await webhooks.prepare(options.webhook, options.redact))
  const record = newRun(runnable, options, engine.surfaces)
  const run = { ...record, epoch: 0, queuedAt: record.createdAt }
  let done: Undo = NOTHING
  try {
    if (webhook !== undefined) done = { webhook: await webhooks.add(run, webhook) }
    let checkpointInput: CheckpointInput = { input, files: [] }
    if (logInput.contents.length > 0) {
      // Files follow the record of their run, which waits once they are kept.
      const earlier = await stores.runs.create(record)
      if (earlier !== undefined) return replay(engine, await undo(engine, done, earlier), options)
      done = NOTHING
      checkpointInput =
        (await keepFiles(logInput, { record, stores, log }, undefined)) ?? (await refuse(engine, run))
    }
    const { first, checkpoint } = toQueuedStart(engine, run, checkpointInput, logInput, options)
    const earlier = await stores.queue.add(run, first, checkpoint)
    if (earlier !== undefined) return replay(engine, await undo(engine, done, earlier), options)
  } catch (err) {
    await undo(engine, done)
    throw err
  }
  await enterSession(stores, { runnable, options, record: run })
  if (!interrupted.knows(run)) interrupted.know(runnable, run.registry)
  engine.queued.serve()
  if (options.onInputRequest) void watchInputs(engine, run.runId, options.onInputRequest)
  return new ReplayedRun(engine, run, 'queued')
}

async function refuse({ stores }: EngineHost, { runId }: StoredRun): Promise<never> {
  const err = new RUN_ERR_STORE()
  await endLeftRun(stores, runId, err)
  throw err
}

/** What the steps of a start have done so far. */
interface Undo {
  /** It counts as a run in progress. */
  readonly run?: LiveRun
  /** Removes its webhook. */
  readonly webhook?: () => Awaitable<void>
}

const NOTHING: Undo = {}

/** Undoes what a start has done, the last step first; one that cannot be undone does not keep the other. Returns what it is given. */
async function undo<T = void>(engine: EngineHost, { run, webhook }: Undo, given?: T): Promise<T> {
  try {
    await webhook?.()
  } catch (err) {
    if (!isReported(err)) engine.log.error({ err: toLoggable(err) }, 'a refused start could not be undone')
  }
  if (run !== undefined && !run.ended) release(engine, run)
  return given as T
}

function release({ live, interrupted }: EngineHost, run: LiveRun): void {
  if (run.resumable) interrupted.forget(run)
  run.turn?.leave(false)
  if (live.has(run.runId)) live.leave(run)
}
