import {
  RUN_ERR_LOG_LIMIT,
  RunResultBuilder,
  type LogEntry,
  type Part,
  type PartError,
  type PartOf,
  type RunResult,
  type RunStats,
  type YieldedPart
} from '@svc/contract'
import { completeFinish } from './complete-finish.ts'
import { encodeJson } from './log/encode-json.ts'
import { encodePart, timeAfter } from './log/encode-part.ts'
import type { TransientPart } from './log/transient-parts.ts'
import { sizeOfEntry } from '@svc/contract/stores'

/** The progress of a run: the number and size of its parts, and the result so far. */
export class RunProgress {
  readonly #maxBytes: number
  readonly #startedAt: number
  readonly #result = new RunResultBuilder()
  #seq = 0
  #at = 0
  #bytes = 0

  /** `elapsed`: milliseconds since the run began, in another process. */
  constructor(maxBytes: number, elapsed = 0) {
    this.#maxBytes = maxBytes
    this.#startedAt = performance.now() - elapsed
  }

  /** The number of parts. */
  get seq(): number {
    return this.#seq
  }

  /** The bytes of the parts, as JSON. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a part that is already in the log. */
  recall(entry: LogEntry): void {
    const { part } = entry
    this.#seq = entry.seq
    this.#at = part.at
    this.#bytes += sizeOfEntry(entry)
    this.#result.add(part)
  }

  /** Numbers the next part. @throws RUN_ERR_LOG_LIMIT, RUN_ERR_BAD_PART */
  next(part: Part): LogEntry {
    const entry = this.#encode(part)
    const bytes = this.#bytes + sizeOfEntry(entry)
    if (bytes > this.#maxBytes) throw new RUN_ERR_LOG_LIMIT(this.#maxBytes)
    this.#bytes = bytes
    return this.#add(entry, part)
  }

  /** Numbers a short part regardless of the log's limit. @throws RUN_ERR_BAD_PART */
  rest(part: Part): LogEntry {
    const entry = this.#encode(part)
    this.#bytes += sizeOfEntry(entry)
    return this.#add(entry, part)
  }

  /** Encodes a part that gets no number. @throws RUN_ERR_BAD_PART */
  passing(part: Part): TransientPart {
    this.#at = timeAfter(this.#at)
    const json = encodeJson(undefined, this.#at, part)
    return { json, part: JSON.parse(json) as TransientPart['part'] }
  }

  #add(entry: LogEntry, part: Part): LogEntry {
    this.#seq++
    // What a result has as it is may be mutated later, or be no JSON, so it is built from the log's copy.
    const { type } = part
    const isTaken =
      type.startsWith('tool.') || type === 'structured' || type === 'file' || type === 'voice.audio'
    this.#result.add(isTaken ? entry.part : part)
    return entry
  }

  /** The last part of a run that did not fail, and its result. @throws RUN_ERR_BAD_PART */
  finish(how: Extract<YieldedPart, { type: 'finish' }>): {
    entry: LogEntry
    finish: PartOf<'finish'>
    result: RunResult
    preview: string
    stats: RunStats
  } {
    const finish = completeFinish(how, this.#result, this.#startedAt)
    const entry = this.#encode(finish)
    this.#result.add(how.structured ? entry.part : finish)
    const { preview, stats } = this.#result
    return { entry, finish, result: this.#result.build(), preview, stats }
  }

  /** What the run took so far. */
  get stats(): RunStats {
    return this.#result.stats
  }

  /** The last part of a run that failed. */
  fail(error: PartError): LogEntry {
    return this.#encode({ type: 'error', error })
  }

  #encode(part: Part): LogEntry {
    this.#at = timeAfter(this.#at)
    return encodePart(this.#seq + 1, this.#at, part)
  }
}
