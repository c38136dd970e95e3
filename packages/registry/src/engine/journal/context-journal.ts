import type { Awaitable, EarlierAnswer, EarlierWait, Journal, RecordedPart, YieldedPart } from '@svc/contract'
import type { RecalledLog } from '../../recovery/recalled-log.ts'
import { PartRecord, withRecord } from './part-record.ts'
import { asReplayed } from './replayed-part.ts'

/** The parts of a run that the journals of its contexts need. */
export interface RunJournal {
  /** The log of an earlier process, if the run was resumed. */
  readonly recalled: RecalledLog | undefined
  recall(key: string): Awaitable<{ readonly output: unknown } | undefined>
  /** Stores a record whose part was dropped. */
  recordAlone(record: PartRecord): Promise<void>
  work(): () => void
  written(): Awaitable<void>
  mayContinue(): Awaitable<void>
}

/** The journal of one context. */
export class ContextJournal implements Journal {
  readonly #run: RunJournal
  readonly #path: readonly string[]
  readonly #source: readonly string[]

  constructor(run: RunJournal, path: readonly string[], source: readonly string[]) {
    this.#run = run
    this.#path = path
    this.#source = source
  }

  get begun(): boolean {
    return this.#run.recalled?.hasSource(this.#source) ?? false
  }

  recall(key: string): Awaitable<{ readonly output: unknown } | undefined> {
    return this.#run.recalled === undefined ? undefined : this.#run.recall(this.#keyOf(key))
  }

  record<P extends YieldedPart>(part: P, key: string, value: unknown): RecordedPart<P> {
    const record = new PartRecord(this.#keyOf(key), value)
    return {
      part: withRecord(part, record),
      stored: () => (record.take() ? this.#run.recordAlone(record) : record.whenStored())
    }
  }

  replay<P extends YieldedPart>(part: P): P {
    return asReplayed(part)
  }

  takeAttempt(index: number): number {
    return this.#run.recalled?.takeAttempt(this.#source, index) ?? 0
  }

  earlierAnswer(index: number): EarlierAnswer | undefined {
    return this.#path.length === 0 ? this.#run.recalled?.answer(index) : undefined
  }

  earlierWait(toolCallId: string): EarlierWait {
    return this.#run.recalled?.wait(this.#source, toolCallId) ?? 'none'
  }

  hasCall(toolCallId: string): boolean {
    return this.#run.recalled?.hasCall(this.#source, toolCallId) ?? false
  }

  work(): () => void {
    return this.#run.work()
  }

  written(): Awaitable<void> {
    return this.#run.written()
  }

  mayContinue(): Awaitable<void> {
    return this.#run.mayContinue()
  }

  #keyOf(key: string): string {
    return keyOf(this.#path, key)
  }
}

/** A key of a context as JSON, so that no name or key can imitate another path. */
export function keyOf(path: readonly string[], key: string): string {
  return JSON.stringify([...path, key])
}
