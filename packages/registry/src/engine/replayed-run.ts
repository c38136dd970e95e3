import { isTerminalStatus, type NumberedPart, type RunResult } from '@svc/contract'
import { resultFromLog } from './load-result.ts'
import type { Run, RunEngine } from './run-engine.ts'

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
