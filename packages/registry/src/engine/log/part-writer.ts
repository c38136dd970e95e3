import {
  copyUsage,
  errorFromStored,
  isPromise,
  RunResultBuilder,
  toPartError,
  toStoredError,
  type Awaitable,
  type LogEntry,
  type Part,
  type PartOf,
  type Redact,
  type RunChange,
  type RunResult,
  type StoredError,
  type StoredRun,
  type Stores,
  type StreamLog,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED, RUN_ERR_FAILED, RUN_ERR_LOG_LIMIT } from '@svc/contract/errors'
import { sizeOfEntry } from '@svc/contract/stores'
import type { PartRecord } from '../journal/part-record.ts'
import { encodeJson, encodePart, timeAfter } from './encode-part.ts'
import { HeldText, type HeldTexts } from './held-text.ts'
import type { TransientPart } from './log-reader.ts'
import { RedactedWriter } from './redacted-writer.ts'

// Characters of queued JSON at which a run that writes faster than its store is held back.
const CONGESTED_AT = 262_144

/** A run, as the writer of its log sees it. */
export interface WrittenRun {
  readonly record: Pick<StoredRun, 'runId' | 'epoch' | 'status'>
  readonly stores: Pick<Stores, 'log'>
  readonly options: { readonly redact?: Redact | undefined }
  /** A write failed; nothing more will be written. */
  writeFailed(err: unknown): void
  /** The record of a part is in the store. */
  stepSettled(): void
  /** A part is for the readers of the moment. */
  publish(part: TransientPart): void
}

interface Queued {
  /** Undefined for a change without a part. */
  readonly entry: LogEntry | undefined
  readonly change: RunChange | undefined
  readonly record: PartRecord | undefined
  /** Called once it is stored. */
  readonly after: (() => void)[]
}

const NO_RECORDS: readonly PartRecord[] = []

/** Completes a `finish`: omitted fields follow from the earlier parts and the clock. */
export function completeFinish(
  part: Extract<YieldedPart, { type: 'finish' }>,
  soFar: Pick<RunResultBuilder, 'usage' | 'structured'>,
  startedAt: number
): PartOf<'finish'> {
  return {
    type: 'finish',
    finishReason: part.finishReason,
    // A copy, so that the runnable cannot change the result later.
    usage: part.usage === undefined ? soFar.usage : copyUsage(part.usage),
    durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000,
    structured: part.structured ?? soFar.structured
  }
}

/** How a run ends: with a `finish`, or with an error. */
export type Ending = Extract<YieldedPart, { type: 'finish' }> | { error: unknown }

/** The outcome for the caller of a run. */
export type Outcome = { result: RunResult } | { error: Error }

/** The last part of a run, the state written with it, and the outcome. */
interface FinalState {
  readonly entry: LogEntry
  readonly change: RunChange
  readonly outcome: Outcome
  /** The reason of the run's signal; undefined if the run completed. */
  readonly reason: unknown
  /** What was thrown, and the error that clients see. */
  readonly fault?: { err: unknown; error: StoredError }
}

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

  /** The time of the latest part, in milliseconds since the epoch. */
  get at(): number {
    return this.#at
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

  /** The last part of the run, and its final state. A result that has no JSON makes the run fail. */
  end(how: Ending, redact?: Redact): FinalState {
    if (!('type' in how)) return this.#fail(how.error, redact)
    try {
      return this.#finish(redact === undefined ? how : redact(how))
    } catch (err) {
      return this.#fail(err, redact)
    }
  }

  #finish(how: Extract<YieldedPart, { type: 'finish' }>): FinalState {
    const finish = completeFinish(how, this.#result, this.#startedAt)
    const entry = this.#encode(finish)
    this.#result.add(how.structured ? entry.part : finish)
    const { preview, stats } = this.#result
    const result = this.#result.build()
    const isCanceled = finish.finishReason === 'canceled'
    const status = isCanceled ? 'canceled' : 'completed'
    return {
      entry,
      change: { status, at: this.#at, result, preview, stats },
      outcome: { result },
      reason: isCanceled ? new RUN_ERR_CANCELED() : undefined
    }
  }

  #fail(err: unknown, redact?: Redact): FinalState {
    const stored = toStoredError(err)
    const error = redact === undefined ? stored : redact(stored)
    return {
      entry: this.#encode({ type: 'error', error: toPartError(error) }),
      change: { status: 'failed', at: this.#at, error, stats: this.#result.stats },
      outcome: { error: errorFromStored(error) },
      reason: err ?? new RUN_ERR_FAILED(),
      fault: { err, error }
    }
  }

  #encode(part: Part): LogEntry {
    this.#at = timeAfter(this.#at)
    return encodePart(this.#seq + 1, this.#at, part)
  }
}

/**
 * Numbers the parts of a run and appends them to its log, without its caller's keys, with one append in progress at a time; parts that
 * arrive meanwhile are appended together. A synchronous store needs no queue.
 */
export class PartWriter {
  readonly #log: StreamLog
  readonly #runId: string
  readonly #epoch: number
  readonly #progress: RunProgress
  readonly #redact: Redact | undefined
  readonly #run: WrittenRun
  // Texts and ends of steps of this turn of the event loop: they are numbered, and appended together at its end, or with the end of the run.
  #texts: LogEntry[] | undefined
  // Only in stores that take time.
  #queue: Queued[] | undefined
  #queued = 0
  #working: Promise<void> | undefined
  // Called once the append in progress has succeeded.
  #after: (() => void)[] | undefined
  #broken = false
  // Only for runs with a caller's keys.
  readonly #redacted: RedactedWriter | undefined
  // Only in stores in which each part costs much.
  readonly #held: HeldText | undefined

  constructor(run: WrittenRun, progress: RunProgress, texts: HeldTexts) {
    const { record, stores, options } = run
    const { log } = stores
    const { redact } = options
    this.#run = run
    this.#log = log
    this.#runId = record.runId
    this.#epoch = record.epoch
    this.#progress = progress
    this.#redact = redact
    if (redact)
      this.#redacted = new RedactedWriter(redact, {
        append: (part, change, step) => this.#append(part, change, step),
        appendRest: (part) => this.#appendRest(part)
      })
    else if (log.onFollowed !== undefined)
      this.#held = new HeldText(texts, log, record.runId, () => this.#writeHeld())
  }

  /** True if the log has a part. */
  get begun(): boolean {
    return this.#progress.seq > 0
  }

  /** True if the run should wait for `idle()` before it writes more. */
  get congested(): boolean {
    return this.#queued > CONGESTED_AT
  }

  /** Writes the first part; the run is then working, unless it is queued. @throws RUN_ERR_LOG_LIMIT */
  start(part: PartOf<'start'>): void {
    const isSettled = part.queued === true || this.#run.record.status === 'working'
    const change: RunChange | undefined = isSettled ? undefined : { status: 'working', at: Date.now() }
    try {
      this.write(part, change)
    } catch (err) {
      // Every log begins with a start, also if the input exceeds its limit.
      const { input: _, ...rest } = part
      this.write(rest, change)
      throw err
    }
  }

  /**
   * Writes a part, the change of the run's record and the record of the part in one transaction. A transient part is not written.
   * @throws RUN_ERR_LOG_LIMIT, RUN_ERR_BAD_PART
   */
  write(part: Part, change?: RunChange, record?: PartRecord): void {
    if (part.type === 'data' && part.transient) return this.#pass(part)
    if (this.#redacted !== undefined) return this.#redacted.write(part, change, record)
    // What is gathered comes after what was held.
    if (this.#held !== undefined && this.#texts === undefined) {
      const isPlain = change === undefined && record === undefined
      if (isPlain && this.#held.add(part)) return
      const before = this.#held.take()
      if (before !== undefined) {
        this.#enter(this.#progress.next(before))
        if (isPlain && this.#held.add(part)) return
      }
    }
    this.#append(part, change, record)
  }

  #append(part: Part, change?: RunChange, record?: PartRecord): void {
    const entry = this.#progress.next(part)
    const { type } = part
    const isGathered = type === 'text' || type === 'reasoning' || type === 'step'
    if (isGathered && change === undefined && record === undefined && this.#working === undefined)
      this.#gather(entry)
    else if (change === undefined) this.#enter(entry, undefined, record)
    // The record says the same time as the part: readers of both see one state.
    else this.#enter(entry, { ...change, at: this.#progress.at }, record)
  }

  #gather(entry: LogEntry): void {
    if (this.#broken) return
    this.#queued += sizeOfEntry(entry)
    if (this.#texts !== undefined) return void this.#texts.push(entry)
    this.#texts = [entry]
    process.nextTick(PartWriter.#storeTexts, this)
  }

  static #storeTexts(this: void, writer: PartWriter): void {
    if (writer.#texts !== undefined) writer.#enter(undefined)
  }

  #takeTexts(): LogEntry[] {
    const texts = this.#texts
    if (texts === undefined) return []
    for (const text of texts) this.#queued -= sizeOfEntry(text)
    this.#texts = undefined
    return texts
  }

  #appendRest(part: Part): void {
    this.#enter(this.#progress.rest(part))
  }

  /** The bytes of the log. */
  get bytes(): number {
    return this.#progress.bytes
  }

  /** The run has its turn. */
  work(): void {
    this.#enter(undefined, { status: 'working', at: Date.now() })
  }

  /** A notice for readers of the moment, as `RunProgress.passing`. */
  notice(part: PartOf<'data'>): TransientPart {
    return this.#progress.passing(part)
  }

  #pass(part: PartOf<'data'>): void {
    this.#run.publish(this.#progress.passing(this.#redact?.(part) ?? part))
  }

  /** Numbers the last part of the run. */
  finish(how: Ending): FinalState {
    return this.#progress.end(how, this.#redact)
  }

  /** Writes the last part of the run. */
  end({ entry, change }: FinalState): void {
    this.#enter(entry, change)
  }

  /** Writes the text held back. */
  flush(): void {
    this.#redacted?.flush()
    this.#writeHeld()
  }

  /** Drops the text held back: another process continues the run. */
  drop(): void {
    this.#held?.take()
    this.#takeTexts()
  }

  /** Wraps a step so that its text is in the log before its output is recorded. */
  flushingAfter<T>(step: () => Promise<T> | T): () => Promise<T> {
    return async () => {
      const output = await step()
      this.flush()
      PartWriter.#storeTexts(this)
      return output
    }
  }

  // It is short, so that it may exceed the limit of the log, at which the next part is refused.
  #writeHeld(): void {
    const held = this.#held?.take()
    if (held !== undefined) this.#appendRest(held)
  }

  /** Resolves when all writes so far have succeeded or failed; undefined if none are in progress. */
  idle(): Promise<void> | undefined {
    PartWriter.#storeTexts(this)
    return this.#working
  }

  /** Calls `act` when all writes so far have succeeded or failed; immediately if none are in progress. */
  whenIdle(act: () => void): void {
    PartWriter.#storeTexts(this)
    if (this.#working === undefined) act()
    else void this.#working.then(act)
  }

  /** Calls `act` when all writes so far have succeeded; immediately if none are in progress, never if one has failed. */
  whenStored(act: () => void): void {
    PartWriter.#storeTexts(this)
    if (this.#broken) return
    if (this.#working === undefined) act()
    else (this.#queue?.at(-1)?.after ?? (this.#after ??= [])).push(act)
  }

  #enter(entry: LogEntry | undefined, change?: RunChange, record?: PartRecord): void {
    if (this.#broken) return
    if (this.#working !== undefined) {
      ;(this.#queue ??= []).push({ entry, change, record, after: [] })
      this.#queued += entry === undefined ? 0 : sizeOfEntry(entry)
      return
    }
    const entries = this.#takeTexts()
    if (entry !== undefined) entries.push(entry)
    try {
      const appended = this.#store(entries, change, record && [record])
      if (isPromise(appended)) this.#working = this.#drain(appended)
    } catch (err) {
      this.#break(err)
    }
  }

  async #drain(first: Promise<void>): Promise<void> {
    try {
      await first
      this.#stored()
      while (this.#queue !== undefined && this.#queue.length > 0) {
        const { entries, change, records, after } = this.#nextBatch(this.#queue)
        this.#after = after
        await this.#store(entries, change, records)
        this.#stored()
      }
    } catch (err) {
      this.#break(err)
    } finally {
      this.#working = undefined
    }
  }

  #store(
    entries: readonly LogEntry[],
    change: RunChange | undefined,
    records: readonly PartRecord[] = NO_RECORDS
  ): Awaitable<void> {
    if (records.length === 0) return this.#log.append(this.#runId, this.#epoch, entries, change)
    const steps = records.map((record) => record.toStep())
    const settle = () => {
      for (const record of records) record.settle()
      this.#run.stepSettled()
    }
    const appended = this.#log.append(this.#runId, this.#epoch, entries, change, steps)
    if (isPromise(appended)) return appended.then(settle)
    settle()
  }

  // Ends with the first part that changes the record, so that both are written together.
  #nextBatch(queue: Queued[]): {
    entries: LogEntry[]
    change: RunChange | undefined
    records: PartRecord[]
    after: (() => void)[]
  } {
    const changing = queue.findIndex(({ change }) => change !== undefined)
    const batch = queue.splice(0, changing === -1 ? queue.length : changing + 1)
    for (const { entry } of batch) if (entry !== undefined) this.#queued -= sizeOfEntry(entry)
    return {
      entries: batch.flatMap(({ entry }) => entry ?? []),
      change: batch.at(-1)!.change,
      records: batch.flatMap(({ record }) => record ?? []),
      after: batch.flatMap(({ after }) => after)
    }
  }

  #stored(): void {
    const after = this.#after
    this.#after = undefined
    for (const act of after ?? []) act()
  }

  /** What was written beside the log cannot be stored, and so nothing more may be written. */
  fail(err: unknown): void {
    this.#break(err)
  }

  #break(err: unknown): void {
    this.#broken = true
    this.#queue = this.#texts = undefined
    this.#queued = 0
    this.#run.writeFailed(err)
  }
}
