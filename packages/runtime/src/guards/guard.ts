import { setMaxListeners } from 'node:events'
import { Type, type TSchema } from '@sinclair/typebox'
import { millisecondsSchema, toLoggable, within, type Awaitable, type RunContext } from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { RUN_ERR_FIRST_TOKEN_TIMEOUT, RUN_ERR_TIMEOUT, RUN_ERR_TOKEN_TIMEOUT } from '../errors.ts'

export { unlessAborted } from '@svc/contract'

/** Lets pending waits fail as soon as the work they belong to must end. */
export class Guard {
  readonly #controller = new AbortController()
  // Most of the time one wait is pending, or none.
  #breakers: ((reason: unknown) => void)[] | undefined
  #isOver = false

  /** Aborts when the work must end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** True once the work must end. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** True while any wait is pending. */
  protected get isWaiting(): boolean {
    return this.#breakers !== undefined && this.#breakers.length > 0
  }

  /** @throws the reason why the work must end, if it must */
  check(): void {
    if (this.#isOver) this.signal.throwIfAborted()
  }

  /** Calls `breaker` with the reason when the work must end; the returned function unsubscribes it. */
  onEnd(breaker: (reason: unknown) => void): () => void {
    if (this.#isOver) breaker(this.signal.reason)
    else if (this.#breakers === undefined) this.#breakers = [breaker]
    else this.#breakers.push(breaker)
    return () => {
      const at = this.#breakers?.indexOf(breaker) ?? -1
      if (at >= 0) this.#breakers!.splice(at, 1)
    }
  }

  /** Settles like `promise`, or rejects first if the work must end. */
  wait<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const off = this.onEnd(reject)
      promise.then(
        (value) => {
          off()
          resolve(value)
        },
        (err: unknown) => {
          off()
          reject(err)
        }
      )
    })
  }

  /** Waits for `ms` milliseconds. @throws the reason why the work must end, if that comes first */
  async sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    try {
      await this.wait(promise)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the work, and every pending wait with `reason`. */
  end(reason: unknown): void {
    this.#isOver = true
    this.#controller.abort(reason)
    const breakers = this.#breakers
    this.#breakers = undefined
    for (const breaker of breakers ?? []) breaker(reason)
  }
}

/** Time-outs of a run, in milliseconds. */
export interface Timeouts {
  /** Until the first token of a model call. */
  readonly firstToken: number
  /** From one token to the next. */
  readonly betweenTokens: number
  /** The whole run, without the time in which it waits for approvals, answers or client tools. */
  readonly run: number
}

export const TimeoutsSchema = Type.Object(
  {
    firstToken: Type.Optional(millisecondsSchema('Until the first token of a model call; default 60,000')),
    betweenTokens: Type.Optional(millisecondsSchema('From one token to the next; default 60,000')),
    run: Type.Optional(millisecondsSchema('The whole run, without waits for its client; default 600,000'))
  } satisfies Record<keyof Timeouts, TSchema>,
  { additionalProperties: false }
)

// Milliseconds between two looks at a run that waits.
const WAIT_PAUSE = 250

// Milliseconds that the end of a run waits for its listeners.
const RELEASE_TIMEOUT = 5_000

/** Called once when a run ends: with the error that ended it, or undefined if it ended well. */
export type EndListener = (error: unknown) => Awaitable<void>

export const TIMEOUT_DEFAULTS: Timeouts = { firstToken: 60_000, betweenTokens: 60_000, run: 600_000 }

type GuardedContext = Pick<RunContext, 'onAbort' | 'waitedMs' | 'runId' | 'log'>

/** A time-out of something within a run. */
export interface Deadline {
  /** As `performance.now()`; it may change. */
  readonly dueAt: number
  expire(): void
}

/**
 * Ends the waits of one run when its caller aborts or a time-out fires. Has the controller behind every model call, and one timer
 * for all time-outs: when it fires and none is due, it is set again for the next one.
 */
export class RunGuard extends Guard {
  readonly #timeout: Timeouts
  readonly #off: () => void
  readonly #context: GuardedContext
  readonly #startedAt = performance.now()
  readonly #waitedBefore: number
  #waited: number
  #awaited: 'firstToken' | 'betweenTokens' | undefined
  #awaitedSince = 0
  #deadlines: Set<Deadline> | undefined
  #timer: NodeJS.Timeout
  // When the timer fires, as `performance.now()`; never once the guard is closed.
  #looksAt = 0
  #endListeners: Set<EndListener> | undefined
  #release: { readonly error: unknown; readonly done: Promise<unknown> | undefined } | undefined

  constructor(context: GuardedContext, timeout: Timeouts) {
    super()
    this.#context = context
    this.#waitedBefore = this.#waited = context.waitedMs
    this.#timeout = timeout
    this.#off = context.onAbort((reason) => this.end(reason))
    // Last, so that an error above cannot leak the timer.
    this.#timer = this.#setTimer(Math.min(timeout.run, timeout.firstToken, timeout.betweenTokens))
  }

  /** Starts the time-out for the first token of a model call. */
  expectFirstToken(): void {
    this.#awaited = 'firstToken'
    this.#awaitedSince = performance.now()
  }

  /** Starts the time-out for the next token. */
  expectToken(): void {
    this.#awaited = 'betweenTokens'
    this.#awaitedSince = performance.now()
  }

  /** Stops waiting for a token: no model call is pending, or the run's reader is slow. */
  expectNothing(): void {
    this.#awaited = undefined
  }

  /** Has the timer of the run watch a time-out within it; call it again once that is due earlier. */
  watch(deadline: Deadline): void {
    ;(this.#deadlines ??= new Set()).add(deadline)
    const now = performance.now()
    if (deadline.dueAt >= this.#looksAt) return
    clearTimeout(this.#timer)
    this.#timer = this.#setTimer(deadline.dueAt - now)
  }

  unwatch(deadline: Deadline): void {
    this.#deadlines?.delete(deadline)
  }

  /** True once the listeners of the end have been called. */
  get isReleased(): boolean {
    return this.#release !== undefined
  }

  /** Calls `listener` once when the run ends, at once if it has; the returned function unsubscribes it. */
  onRelease(listener: EndListener): () => void {
    if (this.#release === undefined) (this.#endListeners ??= new Set()).add(listener)
    else void this.#callAll([listener], this.#release.error)
    return () => void this.#endListeners?.delete(listener)
  }

  /** Calls those who wait for the end of the run, and waits for them, for at most 5 seconds. The first `error` counts. */
  release(error?: unknown): Promise<unknown> | undefined {
    this.#release ??= { error, done: this.#endListeners && this.#callAll([...this.#endListeners], error) }
    return this.#release.done
  }

  override end(reason: unknown): void {
    super.end(reason)
    void this.release(reason)
  }

  /** Ends pending waits, and removes the timer and the listener once the run has ended. */
  close(): void {
    if (this.isWaiting) this.end(new RUN_ERR_CANCELED())
    this.#off()
    this.#looksAt = -Infinity
    clearTimeout(this.#timer)
  }

  #callAll(listeners: readonly EndListener[], error: unknown): Promise<unknown> | undefined {
    if (listeners.length === 0) return undefined
    return within(RELEASE_TIMEOUT, Promise.all(listeners.map((listener) => this.#call(listener, error))))
  }

  async #call(listener: EndListener, error: unknown): Promise<void> {
    try {
      await listener(error)
    } catch (err) {
      const { runId, log } = this.#context
      log.error({ runId, err: toLoggable(err) }, 'a listener of the end of a run failed')
    }
  }

  #setTimer(ms: number): NodeJS.Timeout {
    this.#looksAt = performance.now() + ms
    return setTimeout(() => this.#look(), ms)
  }

  #look(): void {
    const { run, firstToken, betweenTokens } = this.#timeout
    const now = performance.now()
    const waited = this.#context.waitedMs
    const ofRun = this.#startedAt + run + waited - this.#waitedBefore - now
    const ofToken =
      this.#awaited === undefined ? Infinity : this.#awaitedSince + this.#timeout[this.#awaited] - now
    // Timers fire up to a millisecond early.
    if (ofRun < 1) this.end(new RUN_ERR_TIMEOUT(run))
    else if (ofToken >= 1) {
      // While the run waits, what is left of its time stays the same.
      const pause = waited > this.#waited ? WAIT_PAUSE : 0
      this.#waited = waited
      const ofOwn = Math.max(pause, Math.min(ofRun, ofToken, firstToken, betweenTokens))
      const due = this.#takeDue(now)
      this.#timer = this.#setTimer(Math.min(ofOwn, this.#nextDue - now))
      for (const deadline of due) deadline.expire()
    } else if (this.#awaited === 'firstToken') this.end(new RUN_ERR_FIRST_TOKEN_TIMEOUT(firstToken))
    else this.end(new RUN_ERR_TOKEN_TIMEOUT(betweenTokens))
  }

  #takeDue(now: number): Deadline[] {
    const due = [...(this.#deadlines ?? [])].filter(({ dueAt }) => dueAt - now < 1)
    for (const deadline of due) this.#deadlines!.delete(deadline)
    return due
  }

  get #nextDue(): number {
    return Math.min(...Array.from(this.#deadlines ?? [], ({ dueAt }) => dueAt))
  }
}

/** Ends the waits of one member or step when its parent ends or its time-out fires. */
export class ChildGuard extends Guard {
  readonly #parent: AbortSignal
  readonly #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.end(this.#parent.reason)

  /** `timeout.ms` is in milliseconds; `timeout.reason` is the error that ends the child. */
  constructor(parent: AbortSignal, timeout?: { ms: number; reason: Error }) {
    super()
    this.#parent = parent
    // Every parallel child adds a listener.
    setMaxListeners(0, parent)
    if (parent.aborted) this.#onAbort()
    else parent.addEventListener('abort', this.#onAbort, { once: true })
    // Last, so that an error above cannot leak the timer.
    if (timeout !== undefined) this.#timer = setTimeout(() => this.end(timeout.reason), timeout.ms)
  }

  /** Removes the timer and the listener once the child has ended. */
  close(): void {
    clearTimeout(this.#timer)
    this.#parent.removeEventListener('abort', this.#onAbort)
  }
}

/** What a model call needs of the guard of its run. */
export type ModelGuard = Guard & Pick<RunGuard, 'expectFirstToken' | 'expectToken' | 'expectNothing'>

/** Ends the model call of one answer with its run, or before that when the user interrupts the answer. */
export class AnswerGuard extends Guard implements ModelGuard {
  readonly #run: RunGuard
  readonly #interrupted: AbortSignal
  readonly #off: () => void
  readonly #interrupt = () => this.end(INTERRUPTED)

  constructor(run: RunGuard, interrupted: AbortSignal) {
    super()
    this.#run = run
    this.#interrupted = interrupted
    this.#off = run.onEnd((reason) => this.end(reason))
    if (interrupted.aborted) this.#interrupt()
    else interrupted.addEventListener('abort', this.#interrupt, { once: true })
  }

  /** True if the user interrupted the answer before its end, and its run continues. */
  get isInterrupted(): boolean {
    return this.signal.reason === INTERRUPTED
  }

  expectFirstToken(): void {
    this.#run.expectFirstToken()
  }

  expectToken(): void {
    this.#run.expectToken()
  }

  expectNothing(): void {
    this.#run.expectNothing()
  }

  /** Removes its listeners once the model call has ended. */
  close(): void {
    this.#off()
    this.#interrupted.removeEventListener('abort', this.#interrupt)
  }
}

const INTERRUPTED = Symbol('the user interrupted the answer')
