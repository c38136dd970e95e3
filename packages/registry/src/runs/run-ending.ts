import type { Redact } from '../contract/provider-key.ts'
import type { YieldedPart } from '../contract/part.ts'
import type { RunResult } from '../contract/run-result.ts'
import { RUN_ERR_CANCELED, RUN_ERR_FAILED } from '../errors.ts'
import type { RunChange, StoredError } from '../contract/ports/run-store.ts'
import type { LogEntry } from '../contract/ports/stream-log.ts'
import { errorFromStored, toPartError, toStoredError } from './run-error.ts'
import type { RunProgress } from './run-progress.ts'

/** How a run ends: with what its `finish` says, or with an error. */
export type Ending = Extract<YieldedPart, { type: 'finish' }> | { error: unknown }

/** What comes of a run: what its caller gets. */
export type Outcome = { result: RunResult } | { error: Error }

/** The last part of a run, the state that is written with it, and what comes of it. */
export interface RunEnding {
  readonly entry: LogEntry
  readonly change: RunChange
  readonly outcome: Outcome
  /** Why it ended, unless it ended well. */
  readonly reason: unknown
  /** What went wrong, with what clients are told of it. */
  readonly fault?: { err: unknown; error: StoredError }
}

/** The end of a run. What cannot be told in JSON makes it fail. */
export function toRunEnding(progress: RunProgress, how: Ending, redact?: Redact): RunEnding {
  if (!('type' in how)) return toFailure(progress, how.error, redact)
  try {
    const { entry, finish, result, preview } = progress.finish(redact === undefined ? how : redact(how))
    const canceled = finish.finishReason === 'canceled'
    const status = canceled ? 'canceled' : 'completed'
    return {
      entry,
      change: { status, at: Date.now(), result, preview },
      outcome: { result },
      reason: canceled ? new RUN_ERR_CANCELED() : undefined
    }
  } catch (err) {
    return toFailure(progress, err, redact)
  }
}

function toFailure(progress: RunProgress, err: unknown, redact?: Redact): RunEnding {
  const stored = toStoredError(err)
  const error = redact === undefined ? stored : redact(stored)
  return {
    entry: progress.fail(toPartError(error)),
    change: { status: 'failed', at: Date.now(), error },
    outcome: { error: errorFromStored(error) },
    reason: err ?? new RUN_ERR_FAILED(),
    fault: { err, error }
  }
}
