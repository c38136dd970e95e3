import { setTimeout as pause } from 'node:timers/promises'
import {
  ANONYMOUS,
  toLoggable,
  type NextRun,
  type QueuedStart,
  type RunInput,
  type Runnable,
  type RunQueue,
  type StoredRun
} from '@svc/contract'
import { RUN_ERR_NOT_QUEUEABLE, RUN_ERR_SCHEDULE_BINARY } from '@svc/contract/errors'
import { ENGINE_DEFAULTS, type QueueOptions, type RecordOptions } from '../options.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'
import { newRun, toLogInput, toStartPart, type CheckpointInput, type LogInput } from '../engine/run-record.ts'
import { readParts, type LogHost } from '../engine/log/log-reader.ts'
import { prepareStart } from '../engine/prepare-start.ts'
import { toResumeState } from '../recovery/resume-run.ts'
import type { EngineHost } from '../engine/engine-host.ts'
import type { HostedRun } from '../engine/run-host.ts'
import { RunProgress } from '../engine/log/part-writer.ts'
import type { StartOptions } from '../engine/start-options.ts'
import { whenBusyOf } from '../turns/run-turn.ts'

// Milliseconds until serving the queue is tried again.
const RETRY_AFTER = 5_000
// Milliseconds until taking a run is tried again.
const TAKEN_AGAIN_AFTER = 1_000

/** Begins the runs in the queue whose turn it is. */
export class QueuedRuns {
  readonly #host: EngineHost
  readonly #queue: RunQueue | undefined
  readonly #concurrency: number
  readonly #perOwner: number
  readonly #isAsked: boolean
  #serving: Promise<(() => Promise<void>) | undefined> | undefined
  // Called when a run that was begun here leaves memory.
  readonly #ends = new Map<string, () => void>()

  constructor(host: EngineHost, options: QueueOptions | undefined) {
    this.#host = host
    this.#queue = host.stores.queue
    this.#concurrency = options?.concurrency ?? ENGINE_DEFAULTS.queueConcurrency
    this.#perOwner = options?.perOwner ?? ENGINE_DEFAULTS.queuePerOwner
    this.#isAsked = options !== undefined
  }

  /** As `ScheduleHost` says: the store puts the run into the queue by itself. */
  prepare(runnable: Runnable, ...start: [input: RunInput, options: StartOptions]): QueuedStart {
    const { surfaces, record } = this.#host
    const { input, options } = prepareStart(runnable, ...start)
    const logInput = record.input ? toLogInput(input) : undefined
    // What it says applies when a process begins the run.
    const whenBusy = whenBusyOf(runnable, { ...options, queue: false })
    if (logInput !== undefined && logInput.contents.length > 0) throw new RUN_ERR_SCHEDULE_BINARY()
    requireQueueable(runnable, options, logInput, record)
    const begun = newRun(runnable, options, surfaces)
    const run = { ...begun, epoch: 0, queuedAt: begun.createdAt }
    return toQueuedStart(this.#host, run, { input, files: [] }, logInput, { ...options, whenBusy })
  }

  /** Begins to serve the queue if that was asked for, or if runs wait. @throws what the store throws */
  async recover(): Promise<void> {
    if (this.#queue !== undefined && (this.#isAsked || (await this.#queue.isWaiting()))) this.serve()
  }

  /** A runnable is known. */
  known({ queue }: Runnable): void {
    if (queue === true) this.serve()
    if (this.#serving !== undefined) this.#queue?.look()
  }

  /** Begins waiting runs from now on. */
  serve(): void {
    if (this.#queue !== undefined && !this.#host.closing.aborted) this.#serving ??= this.#serve(this.#queue)
  }

  /** A run from the queue has ended, or has left memory. */
  ended({ runId }: HostedRun): void {
    this.#queue?.ended?.(runId)
    const end = this.#ends.get(runId)
    if (end !== undefined) end()
    else this.#queue?.look()
  }

  /** Begins no more runs; resolves when those that were begun have left memory. */
  async stop(): Promise<void> {
    const stop = await this.#serving
    await stop?.()
  }

  async #serve(queue: RunQueue): Promise<(() => Promise<void>) | undefined> {
    const { closing, log } = this.#host
    while (!closing.aborted) {
      try {
        return await queue.serve(this.#concurrency, () => this.#take(queue))
      } catch (err) {
        if (!isReported(err)) log.error({ err: toLoggable(err) }, 'queued runs cannot be begun yet')
        await pause(RETRY_AFTER, undefined, { ref: false, signal: closing }).catch(() => {})
      }
    }
    return undefined
  }

  async #take(queue: RunQueue): Promise<boolean> {
    const { live } = this.#host
    for (let vacancy; (vacancy = live.vacancy()) !== undefined;) await vacancy
    const next = await this.#next(queue)
    if (next !== undefined) await this.#execute(next)
    return next !== undefined
  }

  // Repeats what fails: no other call may follow, and a store that did not answer may have leased a run.
  async #next(queue: RunQueue): Promise<NextRun | undefined> {
    const { closing, stores, interrupted, log } = this.#host
    while (!closing.aborted) {
      const query = { runnables: interrupted.known, perOwner: this.#perOwner, unlimited: ANONYMOUS.sub }
      try {
        await stores.lease?.whenHeld(closing)
        return await queue.next(query)
      } catch (err) {
        if (!closing.aborted && !isReported(err))
          log.error({ err: toLoggable(err) }, 'no queued run can be begun yet')
        await pause(TAKEN_AGAIN_AFTER, undefined, { ref: false, signal: closing }).catch(() => {})
      }
    }
    return undefined
  }

  async #execute(next: NextRun): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#ends.set(next.runId, resolve)
    if (await this.#host.interrupted.begin(next)) await promise
    this.#ends.delete(next.runId)
  }
}

const REQUESTS: ReadonlySet<string> = new Set(['tool.approval.request', 'input.request'])

/** Calls back each time that a run, on whichever node, asks for an input. Resolves when the run or this engine ends. */
export async function watchInputs(host: LogHost, runId: string, onRequest: () => void): Promise<void> {
  try {
    for await (const { type } of readParts(host, runId)) if (REQUESTS.has(type)) onRequest()
  } catch {
    // The caller of the run gets the failure of the store.
  }
}

/** What the queue stores of a new run. @throws RUN_ERR_LOG_LIMIT */
export function toQueuedStart(
  { surfaces, maxLogBytes }: EngineHost,
  run: StoredRun,
  input: CheckpointInput,
  { value }: LogInput,
  options: StartOptions
): QueuedStart {
  const first = new RunProgress(maxLogBytes).next(toStartPart(run, options, value))
  return { run, first, checkpoint: toResumeState(input, options, surfaces) }
}

/**
 * Checks that another process can begin a run from what is stored of it.
 * @throws RUN_ERR_NOT_QUEUEABLE
 */
export function requireQueueable(
  { name, resumable }: Runnable,
  { apiKey, redact }: StartOptions,
  logInput: LogInput | undefined,
  record: Readonly<Required<RecordOptions>>
): asserts logInput is LogInput {
  if (resumable !== true) throw new RUN_ERR_NOT_QUEUEABLE(`another process could not resume "${name}"`)
  if (apiKey !== undefined || redact !== undefined)
    throw new RUN_ERR_NOT_QUEUEABLE('its caller has given a key, and keys are not stored')
  if (logInput === undefined) throw new RUN_ERR_NOT_QUEUEABLE('inputs are not recorded here')
  if (logInput.contents.length > 0 && !record.files)
    throw new RUN_ERR_NOT_QUEUEABLE('files of inputs are not kept here')
}
