import { isDeepStrictEqual } from 'node:util'
import {
  asItIs,
  hasLostSecret,
  MAX_TIMER,
  sleepUntil,
  timeOf,
  type InputKind,
  type InputOutcome,
  type Part,
  type Redact,
  type RunChange,
  type RunStatus,
  type StoredInput,
  type YieldedPart
} from '@svc/contract'
import type { AnswerSeal } from './inputs/answer-seal.ts'
import type { PartWriter } from './log/part-writer.ts'
import { toRequestPart, toResponsePart, type AskedInput, type Asker } from './inputs/asked-input.ts'
import type { DormantWait, Earlier } from './run-host.ts'
import { StepJournal, type JournalHost } from './journal/step-journal.ts'

/** Milliseconds that an input waits for its answer by default. */
const DEFAULT_TIMEOUTS: Readonly<Record<InputKind, number>> = {
  approval: 300_000,
  question: 86_400_000,
  tool: 600_000,
  auth: 86_400_000
}

interface Waiting extends PromiseWithResolvers<InputOutcome> {
  input: StoredInput
  timer: NodeJS.Timeout
  /** As in `ApprovalRequest`. */
  durable: boolean
}

/** The parts of a run that its waits need. */
export interface WaitsHost extends JournalHost {
  readonly runId: string
  readonly options: { readonly redact?: Redact | undefined }
  /** Other processes encrypt credentials for it. */
  readonly seal: Pick<AnswerSeal, 'publicKey'>
  write(part: Part, change: RunChange): void
  /** It begins to wait for inputs, or waits for none any more. */
  waiting(isWaiting: boolean): void
  readonly writer: Pick<PartWriter, 'idle' | 'whenStored'>
  /** Cancels an input whose time is over, unless it was answered in the meantime. */
  expire(inputId: string): unknown
}

// Milliseconds without activity before a run counts as dormant: one that was loaded to wait, and one whose answer may come soon.
const GRACE = 25
const FIRST_GRACE = 1_000
// A shorter wait is not worth unloading the run for.
const MIN_DORMANCY = 1_000

/** The waits of a run: for inputs, times and steps in progress. The run is `input-required` while an input is pending. */
export class RunWaits {
  readonly #host: WaitsHost
  readonly #earlier: Earlier | undefined
  readonly #pending = new Map<string, Waiting>()
  // Answered, until the answer is in the log.
  readonly #delivering = new Set<Waiting>()
  // Inputs of an earlier process, and those of them that this one has not asked for yet.
  readonly #stored: readonly StoredInput[]
  readonly #unasked = new Map<string, Promise<InputOutcome>>()
  #count: number
  #hasSecret = false
  #waitedMs = 0
  #waitsSince = 0
  readonly #sleeps = new Set<{ readonly until: number }>()
  #journal: StepJournal | undefined
  #onDormant: ((wait: DormantWait) => void) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(host: WaitsHost, earlier?: Earlier) {
    this.#host = host
    this.#earlier = earlier
    this.#stored = earlier?.record.inputs ?? []
    this.#count = this.#stored.length
  }

  /** Restores the inputs of an earlier process; `answered` are those whose answer is in the log. */
  resume(answered: ReadonlySet<string>): void {
    for (const input of this.#stored) {
      const { inputId, answer } = input
      const { promise } = this.#wait(input)
      // Lost credentials are asked for again.
      if (answer === null || !hasLostSecret(answer)) this.#unasked.set(inputId, promise)
      if (answer === null) continue
      if (answered.has(inputId)) this.#settle(inputId)?.resolve(answer)
    }
    for (const { inputId, answer } of this.#stored)
      if (answer !== null && !answered.has(inputId)) this.answered(inputId, answer)
  }

  /** Writes the request and waits for its answer. A request that a restart interrupted is not written again. */
  ask(asked: AskedInput, asker: Asker): Promise<InputOutcome> {
    const outcome = this.#takeEarlier(asked, asker) ?? this.#request(asked, asker)
    this.#look()
    return outcome
  }

  /**
   * Delivers an answer that the store has accepted to its asker.
   * @throws RUN_ERR_LOG_LIMIT if it does not fit into the log
   */
  answered(inputId: string, outcome: InputOutcome): void {
    const waiting = this.#pending.get(inputId)
    if (waiting === undefined) return
    const status: RunStatus = this.#pending.size === 1 ? 'working' : 'input-required'
    this.#host.write(toResponsePart(waiting.input, outcome), { status, at: Date.now() })
    this.#settle(inputId)
    this.#hasSecret ||= outcome.secret === true
    this.#delivering.add(waiting)
    // What the asker does next may not be repeated: a crash before that must not deliver the answer again.
    this.#host.writer.whenStored(() => {
      if (this.#delivering.delete(waiting)) waiting.resolve(outcome)
    })
  }

  /** Milliseconds in which an input was pending, in this process. */
  get waitedMs(): number {
    return this.#pending.size === 0 ? this.#waitedMs : this.#waitedMs + performance.now() - this.#waitsSince
  }

  /** Calls back when the run only waits for durable inputs and times, none of them within a second. */
  onDormant(callback: (wait: DormantWait) => void): void {
    this.#onDormant = callback
    this.#look()
  }

  /** The journal of the run's steps. */
  get journal(): StepJournal {
    this.#journal ??= new StepJournal(this.#host, this.#earlier?.log, () => this.#look())
    return this.#journal
  }

  async sleep(until: number, signal: AbortSignal): Promise<void> {
    const sleep = { until }
    this.#sleeps.add(sleep)
    this.#look()
    try {
      await sleepUntil(until, signal, () => timeOf(this.#host.stores))
    } finally {
      this.#sleeps.delete(sleep)
      this.#look()
    }
  }

  /** Takes a part of a resumed run: the end of a tool call cancels what an earlier process asked for it and this one did not ask again. */
  take(part: YieldedPart): void {
    if (part.type !== 'tool.result' && part.type !== 'tool.error') return
    const { toolCallId, source = [] } = part
    for (const input of this.#stored) {
      if (input.toolCallId !== toolCallId || !isDeepStrictEqual(input.source, source)) continue
      if (this.#unasked.delete(input.inputId) && this.#pending.has(input.inputId))
        this.#host.expire(input.inputId)
    }
  }

  /** Rejects all waits, since the run has ended. */
  abandon(ended: { readonly why: unknown }): void {
    this.#onDormant = undefined
    clearTimeout(this.#timer)
    if (this.#pending.size === 0 && this.#delivering.size === 0) return
    const { why } = ended
    for (const inputId of this.#pending.keys()) this.#settle(inputId)?.reject(why)
    for (const { reject } of this.#delivering) reject(why)
    this.#delivering.clear()
  }

  #request(asked: AskedInput, asker: Asker): Promise<InputOutcome> {
    const { timeout, durable = false, ...what } = asked
    const { source, path, signal, onInput } = asker
    const inputId = `${this.#host.runId}.${++this.#count}`
    const expiresAt = timeOf(this.#host.stores) + Math.min(timeout ?? DEFAULT_TIMEOUTS[what.kind], MAX_TIMER)
    const isSealed = what.kind === 'auth' && this.#host.stores.lease !== undefined
    const sealKey = isSealed ? { sealKey: this.#host.seal.publicKey } : undefined
    const input: StoredInput = { inputId, ...what, source, path, expiresAt, ...sealKey, answer: null }
    const { promise } = this.#wait(input, durable)
    // The asker ended before the run did, so the answer is not needed.
    const withdraw = () => this.#pending.has(inputId) && this.#host.expire(inputId)
    signal?.addEventListener('abort', withdraw, { once: true })
    void promise.then(
      () => signal?.removeEventListener('abort', withdraw),
      () => {}
    )
    const request = toRequestPart(input)
    try {
      this.#host.write(request, { status: 'input-required', at: Date.now(), input })
      if (onInput !== undefined) {
        const settled = promise.then(nothing, nothing)
        this.#host.writer.whenStored(() => onInput({ request, settled }))
      }
    } catch (err) {
      this.#settle(inputId)?.reject(err)
    }
    return promise
  }

  #wait(input: StoredInput, durable = false): Waiting {
    const { inputId, expiresAt } = input
    const deferred = Promise.withResolvers<InputOutcome>()
    // After a restart it may be asked for later; until then a rejection is not unhandled.
    deferred.promise.catch(() => {})
    const left = Math.min(Math.max(0, expiresAt - timeOf(this.#host.stores)), MAX_TIMER)
    const timer = setTimeout(() => this.#host.expire(inputId), left).unref()
    const waiting = { ...deferred, input, timer, durable }
    if (this.#pending.size === 0) {
      this.#waitsSince = performance.now()
      this.#host.waiting(true)
    }
    this.#pending.set(inputId, waiting)
    return waiting
  }

  #settle(inputId: string): Waiting | undefined {
    const waiting = this.#pending.get(inputId)
    if (waiting === undefined) return undefined
    if (this.#pending.size === 1) this.#waitedMs = this.waitedMs
    this.#pending.delete(inputId)
    if (this.#pending.size === 0) this.#host.waiting(false)
    clearTimeout(waiting.timer)
    return waiting
  }

  // An earlier input matches only the very same request; what is stored of it is redacted.
  #takeEarlier(asked: AskedInput, asker: Asker): Promise<InputOutcome> | undefined {
    if (this.#unasked.size === 0) return undefined
    const { redact = asItIs } = this.#host.options
    const wanted = matterOf({
      ...redact(jsonOf(asked) as AskedInput),
      source: asker.source,
      path: asker.path
    })
    const found = this.#stored.find(
      (input) => this.#unasked.has(input.inputId) && isDeepStrictEqual(matterOf(input), wanted)
    )
    if (found === undefined) return undefined
    const outcome = this.#unasked.get(found.inputId)
    this.#unasked.delete(found.inputId)
    const waiting = this.#pending.get(found.inputId)
    if (waiting !== undefined) waiting.durable = asked.durable ?? false
    return outcome
  }

  // Whatever a step or an answer triggers starts within the grace period.
  #look(): void {
    if (this.#onDormant === undefined) return
    clearTimeout(this.#timer)
    if (this.#dormantUntil === undefined) return
    this.#timer = setTimeout(
      () => {
        const until = this.#dormantUntil
        if (until === undefined) return
        if (this.#host.writer.idle() !== undefined) this.#look()
        else this.#onDormant?.({ until, inputIds: [...this.#pending.keys()] })
      },
      this.#earlier === undefined ? FIRST_GRACE : GRACE
    ).unref()
  }

  // When the first wait ends; undefined while the run is active or will be soon, or credentials or an input keep it in memory.
  get #dormantUntil(): number | undefined {
    const pending = [...this.#pending.values()]
    const ends = [
      ...pending.map(({ input }) => input.expiresAt),
      ...Array.from(this.#sleeps, ({ until }) => until)
    ]
    if (ends.length === 0 || this.#hasSecret || this.#journal?.idle === false) return undefined
    if (!pending.every(({ durable }) => durable)) return undefined
    const until = Math.min(...ends)
    return until === Infinity || until < timeOf(this.#host.stores) + MIN_DORMANCY ? undefined : until
  }
}

function nothing(): void {}

// What an input is about, and who asks.
function matterOf(input: Omit<AskedInput, 'durable'> & Pick<Asker, 'source' | 'path'>): unknown[] {
  const { kind, message, schema, toolCallId, toolName, args, source, path } = input
  return [kind, message, schema, toolCallId, toolName, args, source, path]
}

function jsonOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
