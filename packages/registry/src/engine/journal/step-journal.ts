import {
  isPromise,
  type Awaitable,
  type EarlierAnswer,
  type EarlierWait,
  type Journal,
  type NodeLease,
  type RecordedPart,
  type RecordedStepOptions,
  type RunStore,
  type YieldedPart
} from '@svc/contract'
import type { RecalledLog } from '../../recovery/recalled-log.ts'
import { asReplayed, PartRecord, withRecord } from './part-record.ts'
import type { PartWriter } from '../log/part-writer.ts'

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

/** The parts of a run that its journal needs. */
export interface JournalHost {
  readonly runId: string
  readonly record: { readonly epoch: number }
  readonly writer: Pick<PartWriter, 'idle' | 'whenStored'>
  readonly stores: { readonly runs: RunStore; readonly lease?: NodeLease }
  readonly lateSignal: { readonly signal: AbortSignal }
  /** @throws the reason of the end if the run has ended */
  requireOpen(): void
  /** Called before a step or a model call. */
  beginWork(): Awaitable<void>
  /** A step was recorded, or the store failed to read or record it. */
  stepSettled(err?: unknown): void
}

/** The journal of one run: a step that is recorded or in progress is not executed again. */
export class StepJournal implements RunJournal {
  readonly recalled: RecalledLog | undefined
  readonly #host: JournalHost
  readonly #onActivity: () => void
  readonly #inProgress = new Map<string, Promise<unknown>>()
  #working = 0
  #onIdle: (() => void) | undefined

  /** @param onActivity called when work or a step ends */
  constructor(host: JournalHost, recalled: RecalledLog | undefined, onActivity: () => void) {
    this.#host = host
    this.recalled = recalled
    this.#onActivity = onActivity
  }

  async step<T>(
    key: string,
    fn: () => Promise<T> | T,
    { journaled = false }: RecordedStepOptions = {}
  ): Promise<T> {
    const inProgress = this.#inProgress.get(key)
    if (inProgress !== undefined) return inProgress as Promise<T>
    const step = this.#execute(key, fn, journaled ? () => nothing : () => this.work())
    this.#inProgress.set(key, step)
    try {
      return await step
    } finally {
      this.#inProgress.delete(key)
    }
  }

  /** True if no step or work is in progress. */
  get idle(): boolean {
    return this.#working === 0
  }

  /** Starts no more steps, and calls back once the current ones are recorded and no work is in progress. */
  stop(onIdle: () => void): void {
    this.#onIdle = onIdle
    this.#reportIdle()
  }

  recall(key: string): Awaitable<{ readonly output: unknown } | undefined> {
    return this.#ask(() => this.#host.stores.runs.readStep(this.#host.runId, key))
  }

  async recordAlone(record: PartRecord): Promise<void> {
    const { runId, record: run, stores } = this.#host
    await this.#ask(() => stores.runs.recordStep(runId, run.epoch, record.key, record.output))
    record.settle()
    this.#host.stepSettled()
  }

  work(): () => void {
    this.#working++
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.#working--
      this.#reportIdle()
      this.#onActivity()
    }
  }

  written(): Awaitable<void> {
    let isStored = false
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#host.writer.whenStored(() => {
      isStored = true
      resolve()
    })
    return isStored ? undefined : promise
  }

  mayContinue(): Awaitable<void> {
    // The run's signal ends the wait.
    if (this.#onIdle !== undefined) return new Promise(() => {})
    const { lease } = this.#host.stores
    return lease === undefined || lease.held ? this.#host.beginWork() : this.#whenHeld(lease)
  }

  // Another node may have taken the run by then: the signal says so.
  async #whenHeld(lease: NodeLease): Promise<void> {
    await lease.whenHeld(this.#host.lateSignal.signal)
    await this.mayContinue()
  }

  #reportIdle(): void {
    if (this.#working === 0) this.#onIdle?.()
  }

  async #execute<T>(key: string, fn: () => Promise<T> | T, work: () => () => void): Promise<T> {
    let endWork = work()
    try {
      this.#host.requireOpen()
      const recorded = await this.recall(key)
      if (recorded !== undefined) return recorded.output as T
      this.#host.requireOpen()
      const waiting = this.mayContinue()
      if (isPromise(waiting)) {
        endWork()
        await waiting
        this.#host.requireOpen()
        endWork = work()
      }
      return await this.#executeNow(key, fn)
    } finally {
      endWork()
    }
  }

  async #executeNow<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const { runId, record, stores } = this.#host
    const json = JSON.stringify(await fn())
    const output = json === undefined ? undefined : (JSON.parse(json) as T)
    // An output whose parts are lost would leave a gap in the log.
    const writing = this.written()
    if (isPromise(writing)) await writing
    await this.#ask(() => stores.runs.recordStep(runId, record.epoch, key, output))
    this.#host.stepSettled()
    return output as T
  }

  #ask<T>(question: () => Awaitable<T>): Awaitable<T> {
    try {
      const answer = question()
      return isPromise(answer) ? answer.catch((err: unknown) => this.#fail(err)) : answer
    } catch (err) {
      return this.#fail(err)
    }
  }

  #fail(err: unknown): never {
    this.#host.stepSettled(err)
    throw err
  }
}

const nothing = () => {}
