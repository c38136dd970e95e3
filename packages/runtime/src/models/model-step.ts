import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCallPart
} from '@ai-sdk/provider'
import { addUsage, defined, type PartOf, type PartSink, type Usage, type YieldedPart } from '@svc/contract'
import { keepFile } from '@svc/registry/engine'
import { needsNone } from '../approvals/approval-manager.ts'
import { RUN_ERR_MODEL_STREAM_BROKEN } from '../errors.ts'
import { AnswerGuard, type RunGuard } from '../guards/guard.ts'
import { CallReport, retryDelay, type ModelCalls } from './call-report.ts'
import { ModelAnswer, type AnswerScope, type ModelToolCall, type ProviderOutcome } from './model-answer.ts'
import { OddEnd, toModelFault, type ModelFault } from './model-fault.ts'
import { restoreUrl, type AnswerContent } from './prompt-content.ts'

type Reader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>

/**
 * One step: calls the model, and retries transient failures before the first token. Read part by part instead of as a
 * generator, since a nested generator costs every part of every run.
 */
export class ModelStep {
  /** The answer of the current attempt; complete once `next` returns undefined. */
  answer: ModelAnswer
  readonly #calls: ModelCalls
  readonly #options: LanguageModelV4CallOptions
  readonly #index: number
  // Attempts of an earlier process.
  readonly #earlier: number
  #attempt = 0
  // The usage of failed attempts.
  #lost: Usage | undefined
  // Parts to return before the next one is read.
  #ready: YieldedPart[] = []
  #report: CallReport | undefined
  #reader: Reader | undefined
  #off: (() => void) | undefined
  #retries = true

  constructor(calls: ModelCalls, options: LanguageModelV4CallOptions, index: number, earlier = 0) {
    this.#calls = calls
    this.#options = options
    this.#index = index
    this.#earlier = earlier
    this.answer = new ModelAnswer(calls)
  }

  /**
   * The next part of the run, as the model streams it; undefined once the answer is complete. With a sink, the parts that the model
   * streams are pushed, and only what comes before them is returned.
   * @throws RUN_ERR_MODEL_…, the time-outs, or the reason why the run must end
   */
  async next(): Promise<YieldedPart | undefined> {
    const { guard } = this.#calls
    for (;;) {
      if (this.#retries) return this.#begin()
      try {
        guard.check()
        const reader = (this.#reader ??= await this.#open())
        const part = await this.#read(reader)
        if (part !== undefined) return part
        guard.check()
        requireEnd(this.answer)
        this.#report?.end(this.answer)
        if (this.#lost !== undefined) this.answer.usage = addUsage(this.#lost, this.answer.usage)
        this.#leave()
        return undefined
      } catch (err) {
        this.#leave()
        if (guard.signal.aborted) this.#report?.leave(guard.signal.reason)
        guard.check()
        await guard.sleep(this.#delayAfter(err))
        this.#retries = true
      }
    }
  }

  #begin(): YieldedPart {
    this.#retries = false
    this.#attempt++
    this.answer = new ModelAnswer(this.#calls)
    this.#ready = []
    const { provider, modelId } = this.#calls.model
    const attempt = this.#earlier + this.#attempt
    return { type: 'step.start', index: this.#index, attempt, model: { provider, modelId } }
  }

  /** The part that ends a complete step; its usage includes that of failed attempts. */
  toPart(): PartOf<'step'> {
    const { usage, stepFinishReason: finishReason, modelId } = this.answer
    const part: PartOf<'step'> = { type: 'step', index: this.#index, ...(usage && { usage }), finishReason }
    const { durationMs, firstTokenMs } = this.#report ?? {}
    if (durationMs !== undefined) part.durationMs = durationMs
    if (firstTokenMs !== undefined) part.firstTokenMs = firstTokenMs
    if (modelId !== undefined) part.model = { provider: this.#calls.model.provider, modelId }
    return part
  }

  async #open(): Promise<Reader> {
    const { model, guard } = this.#calls
    const report = (this.#report = new CallReport(this.#calls, this.#index, this.#earlier + this.#attempt))
    guard.expectFirstToken()
    const opening = model.doStream(this.#options)
    try {
      const reader = (await guard.wait(opening)).stream.getReader()
      // Canceling settles a pending read, whatever the model does.
      this.#off = guard.onEnd((reason) => {
        report.leave(reason)
        reader.cancel(reason).catch(ignore)
      })
      return reader
    } catch (err) {
      if (guard.signal.aborted) opening.then(({ stream }) => stream.cancel(), ignore).then(undefined, ignore)
      throw err
    }
  }

  // Reads until the next part of the run that is not pushed, or the end.
  async #read(reader: Reader): Promise<YieldedPart | undefined> {
    if (this.#ready.length > 0) return this.#ready.shift()
    const { guard, sink } = this.#calls
    const { answer } = this
    for (let isSign = answer.begun; answer.ended === undefined;) {
      if (isSign) guard.expectToken()
      const { done, value } = await reader.read()
      if (done) return undefined
      const part = this.#marked(answer.take(value))
      isSign = isSaid(value)
      if (isSign) answer.begun = true
      if (isSign) this.#report?.tokenArrived()
      if (part === undefined && answer.made.length === 0) continue
      if (part !== undefined && part.type !== 'text') this.#report?.take(part)
      guard.expectNothing()
      if (part === undefined || answer.made.length > 0) return this.#withMade(part)
      if (sink === undefined) return part
      const waiting = this.#push(part, sink)
      if (waiting !== undefined) await waiting
      guard.check()
    }
    return undefined
  }

  // An error of the sink ends the run; it is no failure of the model, to be retried.
  #push(part: YieldedPart, sink: PartSink): Promise<void> | undefined {
    try {
      return sink(part)
    } catch (err) {
      this.#calls.guard.end(err)
      throw err
    }
  }

  // Keeps the files of the answer, whose parts come before this one.
  async #withMade(last: YieldedPart | undefined): Promise<YieldedPart | undefined> {
    const { context, guard } = this.#calls
    const { made, files } = this.answer
    for (const each of made.take()) {
      const part = 'type' in each ? each : await guard.wait(keepFile(context, each))
      if (part.type === 'file' && part.toolCallId === undefined) files.push(part)
      this.#ready.push(part)
    }
    if (last !== undefined) this.#ready.push(last)
    return this.#ready.shift()
  }

  // Marks the calls that the caller of the run serves, and those that may wait for an approval.
  #marked(part: YieldedPart | undefined): YieldedPart | undefined {
    if (part?.type !== 'tool.call' && part?.type !== 'tool.call.delta') return part
    const { tools, approval } = this.#calls
    const tool = tools.get(part.toolName)
    if (tool === undefined) return part
    const { runsAt } = tool
    if (runsAt !== undefined) return { ...part, runsAt }
    return needsNone(tool, approval) ? part : { ...part, mayAsk: true }
  }

  #leave(): void {
    this.#calls.guard.expectNothing()
    this.#off?.()
    if (this.#reader !== undefined) void leave(this.#reader, this.answer)
    this.#reader = this.#off = undefined
  }

  // The wait before the next attempt. @throws the failure after the last attempt
  #delayAfter(err: unknown): number {
    const { context, retry } = this.#calls
    const { usage } = this.answer
    if (usage !== undefined) this.#lost = addUsage(usage, this.#lost)
    const fault = toFault(err, this.answer)
    const delay = retryDelay(fault, this.#attempt, retry)
    const { error, details } = fault
    const { code } = error as Error & { code?: string }
    this.#report?.fail(error, usage)
    context.log.warn(
      { runId: context.runId, step: this.#index, attempt: this.#attempt, delay, code, ...details },
      'model call failed'
    )
    if (delay === undefined) throw error
    return delay
  }
}

// Drains a finished stream, so that its connection can be reused; cancels any other.
async function leave(reader: Reader, answer: ModelAnswer): Promise<void> {
  try {
    if (answer.ended === undefined) await reader.cancel()
    else while (!(await reader.read()).done);
  } catch {
    // The answer is complete, or its failure is already reported.
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

  constructor(
    interrupted: AbortSignal,
    calls: ModelCalls & { readonly guard: RunGuard },
    options: LanguageModelV4CallOptions,
    index: number,
    earlier?: number
  ) {
    const guard = (this.#guard = new AnswerGuard(calls.guard, interrupted))
    this.#step = new ModelStep({ ...calls, guard }, { ...options, abortSignal: guard.signal }, index, earlier)
  }

  /** The answer; if it was interrupted, what of it had arrived. */
  get answer(): ModelAnswer {
    return this.#step.answer
  }

  /** As `ModelStep.next`; undefined also once the answer is interrupted. */
  async next(): Promise<YieldedPart | undefined> {
    try {
      const part = await this.#step.next()
      if (part === undefined) this.#guard.close()
      return part
    } catch (err) {
      this.#guard.close()
      this.answer.cut()
      if (!this.#guard.isInterrupted) throw err
      return undefined
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
