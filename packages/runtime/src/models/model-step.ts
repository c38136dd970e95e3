import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCallPart
} from '@ai-sdk/provider'
import {
  addUsage,
  defined,
  type CompactionReason,
  type PartOf,
  type PartSink,
  type Usage,
  type YieldedPart
} from '@svc/contract'
import { keepFile } from '@svc/registry/engine'
import { needsNone } from '../approvals/approval-manager.ts'
import { RUN_ERR_MODEL_STREAM_BROKEN } from '../errors.ts'
import { AnswerGuard, type ModelGuard, type RunGuard } from '../guards/guard.ts'
import { learnWindow } from '../context/context-window.ts'
import { CallReport, retryDelay, type CallCompaction, type StepCall } from './call-report.ts'
import { ModelAnswer, type AnswerScope, type ModelToolCall, type ProviderOutcome } from './model-answer.ts'
import { TextGate, type GatedCall } from '../middleware/text-gate.ts'
import type { MadeParts } from './made-parts.ts'
import type { Overflow } from './overflow.ts'
import { OddEnd, toModelFault, type ModelFault } from './model-fault.ts'
import { restoreUrl, type AnswerContent } from './prompt-content.ts'

type Reader = Pick<ReadableStreamDefaultReader<LanguageModelV4StreamPart>, 'read' | 'cancel'>
type Opened = Awaited<ReturnType<StepCall['model']['doStream']>>
type Read = Awaited<ReturnType<Reader['read']>>

/**
 * One step: calls the model, and retries transient failures before the first token. Its stream is read by callbacks that are made once,
 * since to await each delta costs more than the delta.
 */
export class ModelStep {
  /** The answer of the current attempt; complete once `pushTo` has resolved. */
  answer: ModelAnswer
  #call: StepCall
  readonly #guard: ModelGuard
  #sink!: PartSink
  #resolve!: () => void
  #reject!: (err: unknown) => void
  #attempt = 0
  // The usage of failed attempts.
  #lost: Usage | undefined
  #report: CallReport | undefined
  #reader: Reader | undefined
  #off: (() => void) | undefined
  // A prompt that is refused again after a compaction stays refused.
  #mayCompact: boolean
  // True while the sink holds the next part back.
  #isHeld = false

  constructor(call: StepCall, guard: ModelGuard) {
    this.#call = call
    this.#guard = guard
    this.answer = new ModelAnswer(call.host)
    this.#mayCompact = call.compaction !== undefined
  }

  /**
   * Pushes the parts of the step; resolves once the answer is complete.
   * @throws RUN_ERR_MODEL_…, the time-outs, the error of the sink, or the reason why the run must end
   */
  pushTo(sink: PartSink): Promise<void> {
    this.#sink = sink
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      const { compaction, before } = this.#call
      if (compaction?.isDue !== true && before === undefined) this.#begin()
      else this.#prepare().then(() => this.#begin(), reject)
    })
  }

  async #prepare(): Promise<void> {
    const { compaction, before = [] } = this.#call
    for (const part of before) await this.#sink(part)
    if (compaction?.isDue === true) await this.#compact(compaction, 'size')
  }

  // False if the prompt cannot be shorter.
  async #compact(compaction: CallCompaction, reason: CompactionReason): Promise<boolean> {
    const shorter = await compaction.compact(reason, this.#sink)
    if (shorter === undefined) return false
    this.#call = { ...this.#call, options: { ...this.#call.options, ...shorter } }
    return true
  }

  /** The part that ends a complete step; its usage includes that of failed attempts. */
  toPart(): PartOf<'step'> {
    const { usage, stepFinishReason: finishReason, modelId } = this.answer
    const { index, model } = this.#call
    const part: PartOf<'step'> = { type: 'step', index, ...(usage && { usage }), finishReason }
    const { durationMs, firstTokenMs } = this.#report ?? {}
    if (durationMs !== undefined) part.durationMs = durationMs
    if (firstTokenMs !== undefined) part.firstTokenMs = firstTokenMs
    if (modelId !== undefined) part.model = { provider: model.provider, modelId }
    return part
  }

  /** The tokens of all attempts, as far as they were reported: also of a call that has failed. */
  get usage(): Usage | undefined {
    return this.answer.usage ?? this.#lost
  }

  // Attempts of an earlier process count too.
  get #number(): number {
    return this.#attempt + (this.#call.earlier ?? 0)
  }

  // Begins the next attempt.
  #begin(): void {
    const { host, model, index, carry } = this.#call
    if (this.#attempt++ > 0) this.answer = new ModelAnswer(host)
    const { provider, modelId } = model
    try {
      const part = { type: 'step.start', index, attempt: this.#number, model: { provider, modelId } } as const
      const waiting = this.#sink(carry?.(part) ?? part)
      if (waiting === undefined) this.#open()
      else waiting.then(() => this.#open(), this.#reject)
    } catch (err) {
      this.#reject(err)
    }
  }

  #open(): void {
    try {
      this.#guard.check()
      const report = (this.#report = new CallReport(this.#call, this.#number))
      this.#guard.expectFirstToken()
      this.#off = this.#guard.onEnd((reason) => {
        report.leave(reason)
        if (!this.#isHeld) this.#fail(reason)
      })
      this.#call.model.doStream(this.#call.options).then((opened) => this.#opened(opened), this.#fail)
    } catch (err) {
      this.#fail(err)
    }
  }

  #opened(opened: Opened): void {
    try {
      if (this.#guard.isOver) return void opened.stream.cancel().then(ignore, ignore)
      const { checks } = this.#call
      this.#reader =
        checks === undefined ? opened.stream.getReader() : new TextGate(opened.stream, checks, this.#gated())
      this.#read()
    } catch (err) {
      this.#fail(err)
    }
  }

  #gated(): GatedCall {
    const guard = this.#guard
    return {
      expectToken: () => {
        this.#report?.tokenArrived()
        guard.expectToken()
      },
      expectNothing: () => guard.expectNothing(),
      push: (part) => this.#push(part),
      refuse: (err) => this.#refuse(err)
    }
  }

  #read(): void {
    if (this.answer.ended !== undefined || this.#guard.isOver) this.#end()
    else this.#reader?.read().then(this.#onRead, this.#fail)
  }

  readonly #onRead = ({ done, value }: Read): void => {
    // The run has ended meanwhile.
    if (this.#reader === undefined) return
    if (done) return this.#end()
    try {
      const waiting = this.#take(value)
      if (waiting === undefined) this.#read()
      else this.#hold(waiting)
    } catch (err) {
      this.#fail(err)
    }
  }

  #end(): void {
    try {
      this.#guard.check()
      requireEnd(this.answer)
      this.#report?.end(this.answer)
      if (this.#lost !== undefined) this.answer.usage = addUsage(this.#lost, this.answer.usage)
      this.#leave()
      this.#resolve()
    } catch (err) {
      this.#fail(err)
    }
  }

  // The attempt has failed, or the run must end.
  readonly #fail = (cause: unknown): void => {
    const guard = this.#guard
    this.#isHeld = false
    this.#leave()
    try {
      if (guard.isOver) this.#report?.leave(guard.signal.reason)
      guard.check()
      const { delay, error, overflow } = this.#faultOf(cause)
      const { compaction } = this.#call
      if (overflow && compaction !== undefined && this.#mayCompact) this.#beginShorter(compaction, error)
      else if (delay === undefined) this.#reject(error)
      else guard.sleep(delay).then(() => this.#begin(), this.#reject)
    } catch (err) {
      this.#reject(err)
    }
  }

  #beginShorter(compaction: CallCompaction, error: Error): void {
    this.#mayCompact = false
    this.#compact(compaction, 'overflow').then(
      (isShorter) => (isShorter ? this.#begin() : this.#reject(error)),
      this.#reject
    )
  }

  #take(value: LanguageModelV4StreamPart): Promise<void> | undefined {
    const { answer } = this
    const part = this.#marked(answer.take(value))
    const isSign = isSaid(value)
    if (isSign) {
      answer.begun = true
      this.#report?.tokenArrived()
    }
    if (part !== undefined && part.type !== 'text') this.#report?.take(part)
    if (answer.made !== undefined && answer.made.length > 0) return this.#pushMade(answer.made, part)
    const waiting = part && this.#push(part)
    if (isSign) this.#guard.expectToken()
    return waiting
  }

  // While the reader of the run is slow, no token is late.
  #hold(waiting: Promise<void>): void {
    this.#isHeld = true
    this.#guard.expectNothing()
    waiting.then(() => {
      this.#isHeld = false
      this.#guard.expectToken()
      this.#read()
    }, this.#fail)
  }

  #push(part: YieldedPart): Promise<void> | undefined {
    try {
      return this.#sink(part)?.catch((err: unknown) => this.#refuse(err))
    } catch (err) {
      return this.#refuse(err)
    }
  }

  // An error of the sink ends the run; it is no failure of the model, to be retried.
  #refuse(err: unknown): never {
    this.#guard.end(err)
    throw err
  }

  // Keeps the files of the answer, whose parts come before this one.
  async #pushMade(made: MadeParts, last: YieldedPart | undefined): Promise<void> {
    const { files } = this.answer
    const ready: YieldedPart[] = []
    for (const each of made.take()) {
      const part = 'type' in each ? each : await this.#guard.wait(keepFile(this.#call.host.context, each))
      if (part.type === 'file' && part.toolCallId === undefined) files.push(part)
      ready.push(part)
    }
    if (last !== undefined) ready.push(last)
    for (const part of ready) await this.#push(part)
  }

  // Marks the calls that the caller of the run serves, and those that may wait for an approval.
  #marked(part: YieldedPart | undefined): YieldedPart | undefined {
    if (part?.type !== 'tool.call' && part?.type !== 'tool.call.delta') return part
    const { tools, host } = this.#call
    const tool = tools.get(part.toolName)
    if (tool === undefined) return part
    const { runsAt } = tool
    if (runsAt !== undefined) return { ...part, runsAt }
    return needsNone(tool, host.approval) ? part : { ...part, mayAsk: true }
  }

  #tellOverflow({ limit }: Overflow): void {
    const { host, model } = this.#call
    const { provider, modelId } = model
    host.events.emit('context.overflow', () => ({ provider, model: modelId, ...defined({ limit }) }))
  }

  #leave(): void {
    this.#guard.expectNothing()
    this.#off?.()
    if (this.#reader !== undefined) leave(this.#reader, this.answer)
    this.#reader = this.#off = undefined
  }

  // Reports a failed attempt; `delay` is the wait before the next one, undefined after the last.
  #faultOf(err: unknown): { delay: number | undefined; error: Error; overflow: boolean } {
    const { host, index: step, model } = this.#call
    const { context, retry } = host
    const { usage } = this.answer
    if (usage !== undefined) this.#lost = addUsage(usage, this.#lost)
    const fault = toFault(err, this.answer)
    const delay = retryDelay(fault, this.#attempt, retry)
    const { error, details, overflow } = fault
    const { code } = error as Error & { code?: string }
    this.#report?.fail(error, usage)
    if (overflow !== undefined) {
      if (overflow.limit !== undefined) learnWindow(model, overflow.limit)
      this.#tellOverflow(overflow)
    }
    context.log.warn(
      { runId: context.runId, step, attempt: this.#attempt, delay, code, ...details },
      'model call failed'
    )
    return { delay, error, overflow: overflow !== undefined }
  }
}

// Drains a finished stream, so that its connection can be reused; cancels any other. The answer is complete, or its failure is reported.
function leave(reader: Reader, answer: ModelAnswer): void {
  try {
    if (answer.ended === undefined) reader.cancel().then(ignore, ignore)
    else reader.read().then(({ done }) => done || leave(reader, answer), ignore)
  } catch {
    // Not every stream keeps to its specification.
  }
}

// A stream without a finish reason was cut off. One with an odd reason and nothing said is no answer.
function requireEnd({ ended, begun }: ModelAnswer): void {
  const { unified = 'interrupted', raw = unified } = ended ?? {}
  if (unified === 'interrupted')
    throw Object.assign(new Error('the stream of the model was cut off'), { code: 'ECONNRESET' })
  if (unified === 'error' || (unified === 'other' && !begun)) throw new OddEnd(raw)
}

function toFault(err: unknown, { begun }: ModelAnswer): ModelFault {
  const fault = toModelFault(err)
  return begun ? { ...fault, error: new RUN_ERR_MODEL_STREAM_BROKEN(), transient: false } : fault
}

const ignore = () => {}

/**
 * True for a part in which the model says something: text, reasoning, tool input, a file or a source. Provider packages stream much
 * else that keeps their books: metadata, markers of blocks, `custom` parts, `raw` chunks.
 */
function isSaid(part: LanguageModelV4StreamPart): boolean {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return part.delta !== ''
    case 'tool-input-start':
    case 'tool-call':
    case 'tool-result':
    case 'tool-approval-request':
    case 'file':
    case 'reasoning-file':
    case 'source':
      return true
    case 'text-end':
      return part.citations !== undefined
    default:
      return false
  }
}

/** A model call that ends early, but well, when the user interrupts its answer. */
export class InterruptibleStep {
  readonly #guard: AnswerGuard
  readonly #step: ModelStep

  constructor(interrupted: AbortSignal, call: StepCall, guard: RunGuard) {
    this.#guard = new AnswerGuard(guard, interrupted)
    const options = { ...call.options, abortSignal: this.#guard.signal }
    this.#step = new ModelStep({ ...call, options }, this.#guard)
  }

  /** The answer; if it was interrupted, what of it had arrived. */
  get answer(): ModelAnswer {
    return this.#step.answer
  }

  /** As `ModelStep.pushTo`; resolves also once the answer is interrupted. */
  async pushTo(sink: PartSink): Promise<void> {
    try {
      await this.#step.pushTo(sink)
    } catch (err) {
      this.answer.cut()
      if (!this.#guard.isInterrupted) throw err
    } finally {
      this.#guard.close()
    }
  }

  toPart(): PartOf<'step'> {
    return this.#step.toPart()
  }
}

/** A complete answer as JSON: everything that the provider expects back, and what the session and the result need. */
export interface AnswerRecord {
  readonly content: AnswerContent
  readonly finishReason: LanguageModelV4FinishReason | null
  readonly usage?: Usage
  readonly modelId?: string
  readonly files?: readonly PartOf<'file'>[]
  /** Without their prompt parts, which are in the content. */
  readonly toolCalls?: readonly Omit<ModelToolCall, 'promptPart'>[]
  readonly providerCalls?: readonly ProviderOutcome['call'][]
  readonly providerOutcomes?: readonly ProviderOutcome[]
}

/** Converts a complete answer to a record. Its values are shared with the answer: encode it before the answer changes. */
export function toRecord(answer: ModelAnswer): AnswerRecord {
  const { content, ended = null, usage, modelId, files, toolCalls, providerCalls, providerOutcomes } = answer
  return {
    content,
    finishReason: ended,
    ...defined({ usage, modelId }),
    ...(files.length > 0 && { files }),
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map(({ promptPart: _, ...call }) => call) }),
    ...(providerCalls.length > 0 && { providerCalls }),
    ...(providerOutcomes.length > 0 && { providerOutcomes })
  }
}

/** Rebuilds an answer from the JSON of its record, and adds its calls to those of the run. */
export function fromRecord(record: AnswerRecord, scope?: AnswerScope): ModelAnswer {
  const answer = new ModelAnswer(scope)
  answer.begun = true
  answer.ended = record.finishReason ?? undefined
  answer.usage = record.usage
  answer.modelId = record.modelId
  answer.files.push(...(record.files ?? []))
  const calls = new Map<string, LanguageModelV4ToolCallPart>()
  for (const part of record.content) {
    const restored = restoreUrl(part)
    if (restored.type === 'tool-call' && restored.providerExecuted !== true)
      calls.set(restored.toolCallId, restored)
    answer.content.push(restored)
  }
  for (const call of record.toolCalls ?? []) {
    const promptPart = calls.get(call.toolCallId)
    if (promptPart !== undefined) answer.toolCalls.push({ ...call, promptPart })
  }
  answer.providerOutcomes.push(...(record.providerOutcomes ?? []))
  for (const call of record.providerCalls ?? []) answer.addProviderCall(call)
  for (const { toolCallId } of answer.toolCalls) scope?.callIds.add(toolCallId)
  return answer
}
