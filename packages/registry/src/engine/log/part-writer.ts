import type { Part, PartOf, Redact, RunChange, StoredRun, StreamLog } from '@svc/contract'
import { toFinalState, type Ending, type FinalState } from '../final-state.ts'
import type { PartRecord } from '../journal/part-record.ts'
import type { TransientPart } from './transient-parts.ts'
import type { RunProgress } from '../run-progress.ts'
import { HeldText } from './held-text.ts'
import { LogWriter, type WriterEvents } from './log-writer.ts'
import { RedactedWriter } from './redacted-writer.ts'

/** Numbers the parts of a run and writes them to its log, without its caller's keys. */
export class PartWriter {
  readonly #progress: RunProgress
  readonly #redact: Redact | undefined
  readonly #writer: LogWriter
  readonly #events: WriterEvents
  // Only for runs with a caller's keys.
  readonly #redacted: RedactedWriter | undefined
  // Only in stores in which each part costs much.
  readonly #held: HeldText | undefined

  constructor(
    log: StreamLog,
    record: StoredRun,
    progress: RunProgress,
    redact: Redact | undefined,
    events: WriterEvents
  ) {
    this.#progress = progress
    this.#redact = redact
    this.#events = events
    this.#writer = new LogWriter(log, record, events)
    const onFollowed = log.onFollowed?.bind(log)
    if (redact) this.#redacted = new RedactedWriter(redact, progress, this.#writer)
    else if (onFollowed) this.#held = new HeldText(record.runId, onFollowed, () => this.#writeHeld())
  }

  /** True if the log has a part. */
  get begun(): boolean {
    return this.#progress.seq > 0
  }

  /** True if the run should wait for `idle()` before it writes more. */
  get congested(): boolean {
    return this.#writer.congested
  }

  /** Writes the first part, with the input if the log keeps it; the run is then working, unless it is queued. @throws RUN_ERR_LOG_LIMIT */
  start(part: PartOf<'start'>, input: unknown): void {
    const change: RunChange | undefined = part.queued ? undefined : { status: 'working', at: Date.now() }
    try {
      this.write(input === undefined ? part : { ...part, input }, change)
    } catch (err) {
      // Every log begins with a start, also if the input exceeds its limit.
      this.write(part, change)
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
    if (this.#held !== undefined) {
      const isPlain = change === undefined && record === undefined
      if (isPlain && this.#held.add(part)) return
      const before = this.#held.take()
      if (before !== undefined) this.#writer.write(this.#progress.next(before))
      if (isPlain && this.#held.add(part)) return
    }
    this.#writer.write(this.#progress.next(part), change, record)
  }

  /** The bytes of the log. */
  get bytes(): number {
    return this.#progress.bytes
  }

  /** The run has its turn. */
  work(): void {
    this.#writer.write(undefined, { status: 'working', at: Date.now() })
  }

  /** A notice for readers of the moment, as `RunProgress.passing`. */
  notice(part: PartOf<'data'>): TransientPart {
    return this.#progress.passing(part)
  }

  #pass(part: PartOf<'data'>): void {
    this.#events.onTransient(this.#progress.passing(this.#redact?.(part) ?? part))
  }

  /** Numbers the last part of the run. */
  finish(how: Ending): FinalState {
    this.flush()
    return toFinalState(this.#progress, how, this.#redact)
  }

  /** Writes the last part of the run. */
  end({ entry, change }: FinalState): void {
    this.#writer.write(entry, change)
  }

  /** Writes the text held back. */
  flush(): void {
    this.#redacted?.flush()
    this.#writeHeld()
  }

  /** Drops the text held back: another process continues the run. */
  drop(): void {
    this.#held?.take()
  }

  /** Wraps a step so that its text is in the log before its output is recorded. */
  flushingAfter<T>(step: () => Promise<T> | T): () => Promise<T> | T {
    if (this.#redacted === undefined && this.#held === undefined) return step
    return async () => {
      const output = await step()
      this.flush()
      return output
    }
  }

  // It is short, so that it may exceed the limit of the log, at which the next part is refused.
  #writeHeld(): void {
    const held = this.#held?.take()
    if (held !== undefined) this.#writer.write(this.#progress.rest(held))
  }

  /** As `LogWriter.idle`. */
  idle(): Promise<void> | undefined {
    return this.#writer.idle()
  }

  /** As `LogWriter.whenStored`. */
  whenStored(act: () => void): void {
    this.#writer.whenStored(act)
  }

  /** As `LogWriter.whenIdle`. */
  whenIdle(act: () => void): void {
    this.#writer.whenIdle(act)
  }
}
