import {
  errorFromStored,
  RUN_ERR_CANCELED,
  RUN_ERR_FAILED,
  toPartError,
  toStoredError,
  type LogEntry,
  type Redact,
  type RunChange,
  type RunResult,
  type StoredError,
  type YieldedPart
} from '@svc/contract'
import type { RunProgress } from './run-progress.ts'

/** How a run ends: with a `finish`, or with an error. */
export type Ending = Extract<YieldedPart, { type: 'finish' }> | { error: unknown }

/** The outcome for the caller of a run. */
export type Outcome = { result: RunResult } | { error: Error }

/** The last part of a run, the state written with it, and the outcome. */
export interface FinalState {
  readonly entry: LogEntry
  readonly change: RunChange
  readonly outcome: Outcome
  /** The reason of the run's signal; undefined if the run completed. */
  readonly reason: unknown
  /** What was thrown, and the error that clients see. */
  readonly fault?: { err: unknown; error: StoredError }
}

/** Builds the final state of a run. A result that has no JSON makes the run fail. */
export function toFinalState(progress: RunProgress, how: Ending, redact?: Redact): FinalState {
  if (!('type' in how)) return toFailure(progress, how.error, redact)
  try {
    const { entry, finish, result, preview, stats } = progress.finish(
      redact === undefined ? how : redact(how)
    )
    const canceled = finish.finishReason === 'canceled'
    const status = canceled ? 'canceled' : 'completed'
    return {
      entry,
      change: { status, at: Date.now(), result, preview, stats },
      outcome: { result },
      reason: canceled ? new RUN_ERR_CANCELED() : undefined
    }
  } catch (err) {
    return toFailure(progress, err, redact)
  }
}

function toFailure(progress: RunProgress, err: unknown, redact?: Redact): FinalState {
  const stored = toStoredError(err)
  const error = redact === undefined ? stored : redact(stored)
  return {
    entry: progress.fail(toPartError(error)),
    change: { status: 'failed', at: Date.now(), error, stats: progress.stats },
    outcome: { error: errorFromStored(error) },
    reason: err ?? new RUN_ERR_FAILED(),
    fault: { err, error }
  }
}
