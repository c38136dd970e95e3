import type { Awaitable, StepRecord } from '@svc/contract'

// A symbol, so that JSON, schemas and readers do not see it; two copies of this package share it.
const RECORD = Symbol.for('svc.part-record')

/** A value on its way to the journal, attached to the part whose transaction stores it. */
export class PartRecord {
  readonly key: string
  readonly output: unknown
  #taken = false
  #stored = false
  #waiter: PromiseWithResolvers<void> | undefined

  constructor(key: string, output: unknown) {
    this.key = key
    this.output = output
  }

  /** Marks it as about to be stored; false if it already was. */
  take(): boolean {
    if (this.#taken) return false
    this.#taken = true
    return true
  }

  /** It is in the store. */
  settle(): void {
    this.#stored = true
    this.#waiter?.resolve()
  }

  /** Resolves when it is in the store; never if it cannot be stored, which ends the run. */
  whenStored(): Awaitable<void> {
    if (this.#stored) return
    this.#waiter ??= Promise.withResolvers()
    return this.#waiter.promise
  }

  toStep(): StepRecord {
    return { key: this.key, output: this.output }
  }
}

/** A copy of a part with a record; copies of that copy have it too. */
export function withRecord<P extends object>(part: P, record: PartRecord): P {
  return { ...part, [RECORD]: record }
}

/** Takes the record of a part; undefined if it has none, or if that is taken. */
export function takeRecord(part: object): PartRecord | undefined {
  const record = (part as { [RECORD]?: PartRecord })[RECORD]
  return record?.take() ? record : undefined
}

// A symbol, so that JSON, schemas and readers do not see it; two copies of this package share it.
const REPLAYED = Symbol.for('svc.replayed-part')

/** Marks a part that the log of an earlier process has; copies of the marked one are marked too. */
export function asReplayed<P extends object>(part: P): P {
  return { ...part, [REPLAYED]: true }
}

/** True if the log of an earlier process has the part. */
export function isReplayed(part: unknown): boolean {
  return (part as { [REPLAYED]?: true } | undefined)?.[REPLAYED] === true
}
