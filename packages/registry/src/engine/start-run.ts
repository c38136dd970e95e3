import {
  codeOf,
  isPromise,
  isRefusedStart,
  type Awaitable,
  type RunInput,
  type RunSummary,
  type WhenBusy
} from '@svc/contract'
import { RUN_ERR_STORE } from '@svc/contract/errors'
import type { PreparedWebhook } from '../webhooks/webhooks.ts'
import type { EngineHost } from './engine-host.ts'
import { keepRecorded, type RecordedInput } from './recorded-input.ts'
import type { LiveRun } from './live-run.ts'
import { placeRun } from '../turns/run-turn.ts'
import type { Checkpoint } from '../recovery/interrupted-runs.ts'
import { beforeTurn, cancelActive, type FoundRun } from '../turns/before-turn.ts'
import { UndoSteps } from './undo-steps.ts'

/** A start that was checked. */
export interface RunStart {
  readonly run: LiveRun
  readonly input: RunInput
  /** Undefined if no input is recorded. */
  readonly recorded: RecordedInput | undefined
  readonly whenBusy: WhenBusy
  readonly webhook: PreparedWebhook | undefined
}

/**
 * Starts a run; resolves once its record is stored, with the run that was found instead of it, if there is one. What the steps of a start
 * have done is undone unless the store has the run in the end.
 * @throws why the start is refused, RUN_ERR_STORE
 */
export async function startRun(host: EngineHost, start: RunStart): Promise<FoundRun | undefined> {
  const { run, input, whenBusy, webhook } = start
  const undo = new UndoSteps(host.log)
  try {
    enter(host, run, undo)
    if (whenBusy === 'reject' || whenBusy === 'steer') {
      const found = await beforeTurn(host, run, input, whenBusy)
      if (found !== undefined) return await undo.all(found)
    }
    if (webhook !== undefined) undo.add(await host.webhooks.add(run.record, webhook))
    const { created, early } = create(host, start)
    // From then on it reports how the run ends.
    if (webhook !== undefined && (await created) === undefined) undo.none()
    const earlier = mayDiffer(host, run) ? await created : undefined
    if (earlier !== undefined) return await undo.all({ run: earlier, joined: false })
    await begin(host, start, created, early)
    undo.none()
    if (!run.ended && (whenBusy === 'interrupt' || whenBusy === 'replace'))
      await cancelActive(host, run, whenBusy === 'interrupt')
    return undefined
  } catch (err) {
    const isRefused = isRefusedStart(err)
    if (!isRefused) await run.refuse(new RUN_ERR_STORE({ cause: err }))
    await undo.all()
    if (codeOf(err) === 'RUN_ERR_TOO_MANY_RUNS') host.live.refusals.add(run.record.owner)
    throw isRefused ? err : new RUN_ERR_STORE({ cause: err })
  }
}

function enter({ live, interrupted }: EngineHost, run: LiveRun, undo: UndoSteps): void {
  live.enter(run)
  undo.add(() => {
    if (run.ended) return
    if (run.resumable) interrupted.forget(run)
    run.turn?.leave(false)
    if (live.has(run.runId)) live.leave(run)
  })
}

interface Creation {
  readonly created: Awaitable<RunSummary | undefined>
  /** With the creation: the answer to a start may get lost, and its repetition must find a run that can be resumed. */
  readonly early: Checkpoint | undefined
}

function create(
  { stores, live, interrupted, durable }: EngineHost,
  { run, input, recorded }: RunStart
): Creation {
  const created = stores.runs.create(run.record, live.limits.inStore(stores, run.record.owner))
  if (isPromise(created)) run.created = created
  const isEarly = isPromise(created) && recorded?.contents.length === 0 && isResumable(run, durable)
  const early = isEarly ? interrupted.keep(run, { input, files: [] }) : undefined
  run.resumable = early !== undefined
  return { created, early }
}

/**
 * True if another process may resume a run that is started. A workflow is resumed whatever its
 * client does.
 * @param durable false if nothing outlasts the process
 */
function isResumable({ runnable, options }: LiveRun, durable: boolean): boolean {
  const { kind, resumable } = runnable
  return resumable === true && (kind === 'workflow' || (durable && options.onDisconnect !== 'cancel'))
}

// Only these starts may be refused by the store, or have an earlier run.
function mayDiffer({ stores, live }: EngineHost, { options, record }: LiveRun): boolean {
  return options.startKey !== undefined || live.limits.inStore(stores, record.owner) !== undefined
}

async function begin(
  { stores, interrupted, live, record, durable }: EngineHost,
  { run, input, recorded }: RunStart,
  created: Creation['created'],
  early: Checkpoint | undefined
): Promise<void> {
  const keeping = keepRecorded(run, input, recorded, record.files, created)
  const kept = isPromise(keeping) ? await keeping : keeping
  if (run.ended) return
  const isKept = kept !== undefined && isResumable(run, durable)
  const checkpoint = isKept ? (early ?? interrupted.keep(run, kept)) : early
  const placing = run.turn === undefined ? placeRun(stores, run) : undefined
  // Whether it is queued stands in its first part.
  if (isPromise(placing)) await placing
  if (run.ended) return
  run.begin(input, checkpoint !== undefined, recorded?.value)
  if (isPromise(created)) await created
  run.created = undefined
  if (isPromise(checkpoint?.saved)) await checkpoint.saved
  live.begun(run)
}
