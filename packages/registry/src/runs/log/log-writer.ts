import type { RunChange, StoredRun } from '../../contract/ports/run-store.ts'
import { isPromise } from '../../contract/ports/awaitable.ts'
import type { LogEntry, StreamLog } from '../../contract/ports/stream-log.ts'

// Characters of queued JSON at which a run that writes faster than its store is held back.
const CONGESTED_AT = 262_144

/**
 * Appends one run's parts in order, with one append in progress at a time; parts that arrive meanwhile are appended together.
 * A synchronous store needs no queue.
 */
export class LogWriter {
  readonly #log: StreamLog
  readonly #runId: string
  readonly #epoch: number
  readonly #onFault: (err: unknown) => void
  #queue: { entry: LogEntry; change: RunChange | undefined }[] = []
  #queued = 0
  #working: Promise<void> | undefined
  #broken = false

  constructor(
    log: StreamLog,
    { runId, epoch }: Pick<StoredRun, 'runId' | 'epoch'>,
    onFault: (err: unknown) => void
  ) {
    this.#log = log
    this.#runId = runId
    this.#epoch = epoch
    this.#onFault = onFault
  }

  /** True if the run should wait for `idle()` before it writes more. */
  get congested(): boolean {
    return this.#queued > CONGESTED_AT
  }

  /** Writes a part and the change of the record in one transaction. */
  write(entry: LogEntry, change?: RunChange): void {
    if (this.#broken) return
    if (this.#working !== undefined) {
      this.#queue.push({ entry, change })
      this.#queued += entry.json.length
      return
    }
    try {
      const appended = this.#log.append(this.#runId, this.#epoch, [entry], change)
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

  async #drain(first: Promise<void>): Promise<void> {
    try {
      await first
      while (this.#queue.length > 0) {
        const { entries, change } = this.#nextBatch()
        await this.#log.append(this.#runId, this.#epoch, entries, change)
      }
    } catch (err) {
      this.#break(err)
    } finally {
      this.#working = undefined
    }
  }

  // Ends with the first part that changes the record, so that both are written together.
  #nextBatch(): { entries: LogEntry[]; change: RunChange | undefined } {
    const changing = this.#queue.findIndex(({ change }) => change !== undefined)
    const batch = this.#queue.splice(0, changing === -1 ? this.#queue.length : changing + 1)
    for (const { entry } of batch) this.#queued -= entry.json.length
    return { entries: batch.map(({ entry }) => entry), change: batch.at(-1)!.change }
  }

  #break(err: unknown): void {
    this.#broken = true
    this.#queue = []
    this.#queued = 0
    this.#onFault(err)
  }
}
