import {
  codeOf,
  createPause,
  errorFromStored,
  isPromise,
  isTerminalPart,
  isTerminalStatus,
  RunResultBuilder,
  type Awaitable,
  type LogEntry,
  type NumberedPart,
  type RunResult,
  type RunSummary,
  type Stores
} from '@svc/contract'
import { RUN_ERR_NOT_FOUND, RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import { readEntries, type LogHost } from './log/log-reader.ts'
import type { Run, RunEngine } from './run-engine.ts'

/**
 * The result of a run that this process does not execute, once it has ended.
 * @throws the error of a run that failed, RUN_ERR_NOT_FOUND, RUN_ERR_SUSPENDED if the engine closes first
 */
export async function resultFromLog(host: LogHost, runId: string): Promise<RunResult> {
  const { runs } = host.stores
  let run = await runs.find(runId)
  if (run !== undefined && !isTerminalStatus(run.status)) {
    await untilLogEnds(host, runId)
    run = await runs.find(runId)
  }
  if (run?.error) throw errorFromStored(run.error)
  if (run !== undefined && !isTerminalStatus(run.status))
    throw host.faultOf?.(runId) ?? new RUN_ERR_SUSPENDED()
  const result = run && (await loadResult(host.stores, run))
  if (!result) throw new RUN_ERR_NOT_FOUND(runId)
  return result
}

// It ends with the run, or with the engine. A run that continues from an earlier state of the store has the result of that one.
async function untilLogEnds(host: LogHost, runId: string): Promise<void> {
  try {
    for await (const _ of readEntries(host, runId));
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_LOG_GONE') throw err
    await untilLogEnds(host, runId)
  }
}

/** The size of a run in bytes up to which its result is parsed as a whole. */
const MAX_WHOLE = 2_097_152
const PAGE = { entries: 512, bytes: 65_536 }

/**
 * Loads a run's result; null if there is none. A large one is rebuilt from the log page by page, so that no turn of the event loop
 * parses all of it.
 */
export function loadResult(
  { runs, log }: Pick<Stores, 'runs' | 'log'>,
  { runId, status, bytes }: Pick<RunSummary, 'runId' | 'status' | 'bytes'>
): Awaitable<RunResult | null> {
  if (status !== 'completed' && status !== 'canceled') return null
  if (bytes > MAX_WHOLE) {
    const reading = log.read(runId, 0, PAGE)
    // A synchronous store need not parse anything.
    if (isPromise(reading)) return loadLarge(log, runId, reading)
  }
  const run = runs.get(runId)
  return isPromise(run) ? run.then((found) => found?.result ?? null) : (run?.result ?? null)
}

async function loadLarge(
  log: Stores['log'],
  runId: string,
  first: Promise<readonly LogEntry[]>
): Promise<RunResult | null> {
  let reading: Awaitable<readonly LogEntry[]> = first
  const pause = createPause()
  const result = new RunResultBuilder()
  for (;;) {
    const entries = await reading
    for (const { part } of entries) result.add(part)
    const last = entries.at(-1)
    // The run was removed in the meantime.
    if (last === undefined) return null
    if (isTerminalPart(last.part) && !last.part.source?.length) return result.build()
    await pause()
    reading = log.read(runId, last.seq, PAGE)
  }
}

/** A run that an earlier call started, here or on another node, that waits in the queue, or that a message has joined; everything is read from the stores. */
export class ReplayedRun implements Run {
  readonly runId: string
  readonly sessionId: string
  readonly createdAt: number
  readonly replayed: boolean
  readonly queued: boolean
  readonly joined: boolean
  readonly #engine: RunEngine

  constructor(
    engine: RunEngine,
    { runId, sessionId, createdAt }: Pick<Run, 'runId' | 'sessionId' | 'createdAt'>,
    how: 'replayed' | 'queued' | 'joined' = 'replayed'
  ) {
    this.replayed = how === 'replayed'
    this.queued = how === 'queued'
    this.joined = how === 'joined'
    this.#engine = engine
    this.runId = runId
    this.sessionId = sessionId
    this.createdAt = createdAt
  }

  result(): Promise<RunResult> {
    return resultFromLog(this.#engine, this.runId)
  }

  parts(after?: number, signal?: AbortSignal): AsyncIterable<NumberedPart> {
    return this.#engine.parts(this.runId, after, signal)
  }

  async cancel(): Promise<boolean> {
    const run = await this.#engine.find(this.runId)
    if (run === undefined || isTerminalStatus(run.status)) return false
    await this.#engine.cancel(this.runId)
    return true
  }
}
