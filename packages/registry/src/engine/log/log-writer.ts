import {
  isPromise,
  type Awaitable,
  type LogEntry,
  type RunChange,
  type StoredRun,
  type StreamLog
} from '@svc/contract'
import type { TransientPart } from './log-reader.ts'
import type { PartRecord } from '../journal/part-record.ts'

// Characters of queued JSON at which a run that writes faster than its store is held back.
const CONGESTED_AT = 262_144

/** What a writer reports. */
export interface WriterEvents {
  /** A write failed; nothing more will be written. */
  readonly onFault: (err: unknown) => void
  /** The record of a part is in the store. */
  readonly onRecorded: () => void
  /** A part is for the readers of the moment. */
  readonly onTransient: (part: TransientPart) => void
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

/**
 * Appends one run's parts in order, with one append in progress at a time; parts that arrive meanwhile are appended together.
 * A synchronous store needs no queue.
 */
export class LogWriter {
  readonly #log: StreamLog
  readonly #runId: string
  readonly #epoch: number
  readonly #events: WriterEvents
  #queue: Queued[] = []
  #queued = 0
  #working: Promise<void> | undefined
  // Called once the append in progress has succeeded.
  #after: (() => void)[] = []
  #broken = false

  constructor(log: StreamLog, { runId, epoch }: Pick<StoredRun, 'runId' | 'epoch'>, events: WriterEvents) {
    this.#log = log
    this.#runId = runId
    this.#epoch = epoch
    this.#events = events
  }

  /** True if the run should wait for `idle()` before it writes more. */
  get congested(): boolean {
    return this.#queued > CONGESTED_AT
  }

  /** Writes a part, the change of the run's record and the record of the part in one transaction. */
  write(entry: LogEntry | undefined, change?: RunChange, record?: PartRecord): void {
    if (this.#broken) return
    if (this.#working !== undefined) {
      this.#queue.push({ entry, change, record, after: [] })
      this.#queued += entry?.json.length ?? 0
      return
    }
    try {
      const appended = this.#append(entry === undefined ? [] : [entry], change, record && [record])
      if (isPromise(appended)) this.#working = this.#drain(appended)
    } catch (err) {
      this.#break(err)
    }
  }

  /** Resolves when all writes so far have succeeded or failed; undefined if none are in progress. */
  idle(): Promise<void> | undefined {
    return this.#working
  }

  /** Calls `act` when all writes so far have succeeded or failed; immediately if none are in progress. */
  whenIdle(act: () => void): void {
    if (this.#working === undefined) act()
    else void this.#working.then(act)
  }

  /** Calls `act` when all writes so far have succeeded; immediately if none are in progress, never if one has failed. */
  whenStored(act: () => void): void {
    const last = this.#queue.at(-1)
    if (this.#broken) return
    if (this.#working === undefined) act()
    else (last?.after ?? this.#after).push(act)
  }

  async #drain(first: Promise<void>): Promise<void> {
    try {
      await first
      this.#stored()
      while (this.#queue.length > 0) {
        const { entries, change, records, after } = this.#nextBatch()
        this.#after = after
        await this.#append(entries, change, records)
        this.#stored()
      }
    } catch (err) {
      this.#break(err)
    } finally {
      this.#working = undefined
    }
  }

  #append(
    entries: readonly LogEntry[],
    change: RunChange | undefined,
    records: readonly PartRecord[] = NO_RECORDS
  ): Awaitable<void> {
    if (records.length === 0) return this.#log.append(this.#runId, this.#epoch, entries, change)
    const steps = records.map((record) => record.toStep())
    const settle = () => {
      for (const record of records) record.settle()
      this.#events.onRecorded()
    }
    const appended = this.#log.append(this.#runId, this.#epoch, entries, change, steps)
    if (isPromise(appended)) return appended.then(settle)
    settle()
  }

  // Ends with the first part that changes the record, so that both are written together.
  #nextBatch(): {
    entries: LogEntry[]
    change: RunChange | undefined
    records: PartRecord[]
    after: (() => void)[]
  } {
    const changing = this.#queue.findIndex(({ change }) => change !== undefined)
    const batch = this.#queue.splice(0, changing === -1 ? this.#queue.length : changing + 1)
    for (const { entry } of batch) this.#queued -= entry?.json.length ?? 0
    return {
      entries: batch.flatMap(({ entry }) => entry ?? []),
      change: batch.at(-1)!.change,
      records: batch.flatMap(({ record }) => record ?? []),
      after: batch.flatMap(({ after }) => after)
    }
  }

  #stored(): void {
    const after = this.#after
    this.#after = []
    for (const act of after) act()
  }

  #break(err: unknown): void {
    this.#broken = true
    this.#queue = []
    this.#queued = 0
    this.#events.onFault(err)
  }
}
