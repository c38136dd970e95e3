import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import { Type, type TSchema } from '@sinclair/typebox'
import {
  backoffDelay,
  defined,
  isExposed,
  type CompactionReason,
  type PartSink,
  type RunContext,
  type Usage,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import type { ApprovalPolicy } from '../approvals/approval-manager.ts'
import { RUN_ERR_MODEL_FAILED } from '../errors.ts'
import type { TextChecks } from '../middleware/text-gate.ts'
import { toToolError } from '../tool-calls/tool-outcome.ts'
import type { RunEvents } from '../events/events.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import { ModelAnswer, type AnswerScope } from './model-answer.ts'
import { toModelFault, type ModelFault } from './model-fault.ts'
import { appendMessage } from './prompt-content.ts'

/** What the model calls of a run share. */
export interface ModelHost extends AnswerScope {
  readonly context: RunContext
  readonly events: RunEvents
  readonly retry: Retry
  readonly approval: ApprovalPolicy
}

/** The model call of one step. */
export interface StepCall {
  readonly host: ModelHost
  readonly model: LanguageModelV4
  readonly options: LanguageModelV4CallOptions
  /** The tools of the step. */
  readonly tools: Pick<ToolSet, 'get'>
  /** Of the step. */
  readonly index: number
  /** `memory`: the call writes a summary, and is no step. */
  readonly purpose?: 'memory' | undefined
  /** How many attempts an earlier process made; default 0. */
  readonly earlier?: number | undefined
  /** Parts of an earlier process that precede the step. */
  readonly before?: readonly YieldedPart[] | undefined
  readonly compaction?: CallCompaction | undefined
  /** Of what the model says; undefined if nothing checks it. */
  readonly checks?: TextChecks | undefined
  /** Attaches to the start of the step what is to be recorded with it. */
  readonly carry?: (<P extends YieldedPart>(part: P) => P) | undefined
}

/** How the prompt of a call is made to fit the window of its model. */
export interface CallCompaction {
  /** True if it is too long before it is sent. */
  readonly isDue: boolean
  /**
   * Compacts the prompt, and pushes the part about it. Returns the options of the call with it; undefined if nothing can be left out.
   * @throws the reason why the run must end, the error of the sink
   */
  compact(
    reason: CompactionReason,
    sink: PartSink
  ): Promise<Pick<LanguageModelV4CallOptions, 'prompt' | 'providerOptions'> | undefined>
}

/** Emits the events of one attempt at a model call: its start, and once its end. */
export class CallReport {
  readonly #call: StepCall
  readonly #attempt: number
  readonly #startedAt = performance.now()
  #durationMs = 0
  #firstTokenMs: number | undefined
  #ended = false

  constructor(call: StepCall, attempt: number) {
    this.#call = call
    this.#attempt = attempt
    call.host.events.emit('model.call', () => this.#fields())
  }

  /** Milliseconds until the first token. */
  get firstTokenMs(): number | undefined {
    return this.#firstTokenMs
  }

  /** Milliseconds since the start of the call, until its end. */
  get durationMs(): number {
    return this.#ended ? this.#durationMs : Math.round((performance.now() - this.#startedAt) * 1000) / 1000
  }

  /** Takes the time of the first token; later calls do nothing. */
  tokenArrived(): void {
    this.#firstTokenMs ??= this.durationMs
  }

  end({ stepFinishReason, usage, warnings, modelId }: ModelAnswer): void {
    this.#end()
    const { host, index: step } = this.#call
    const { context, events } = host
    if (warnings.length > 0)
      context.log.debug({ runId: context.runId, step, warnings }, 'the model call had warnings')
    events.emit('model.result', () => ({
      ...this.#fields(),
      finishReason: stepFinishReason,
      ...defined({ usage, firstTokenMs: this.#firstTokenMs, responseModel: modelId }),
      durationMs: this.#durationMs
    }))
  }

  /** @param usage the tokens that the failed call reported */
  fail(err: unknown, usage?: Usage): void {
    if (this.#ended) return
    this.#end()
    this.#call.host.events.emit('model.error', () => ({
      ...this.#fields(),
      error: toToolError(err, new RUN_ERR_MODEL_FAILED()),
      ...(usage !== undefined && { usage }),
      durationMs: this.#durationMs
    }))
  }

  /** Reports calls of tools the provider executes, and their outcomes. */
  take(part: YieldedPart): void {
    if (!('providerExecuted' in part)) return
    const { events } = this.#call.host
    const { toolCallId, toolName } = part
    if (part.type === 'tool.call') events.emit('tool.call', () => ({ toolCallId, toolName, args: part.args }))
    else if (part.type === 'tool.result')
      events.emit('tool.result', () => ({
        toolCallId,
        toolName,
        result: part.result,
        durationMs: part.durationMs
      }))
    else events.emit('tool.error', () => ({ toolCallId, toolName, error: part.error, durationMs: 0 }))
  }

  /** The call was left early: the run ended, or its reader went away. */
  leave(reason: unknown): void {
    this.fail(isExposed(reason) ? reason : new RUN_ERR_CANCELED())
  }

  #end(): void {
    this.#durationMs = this.durationMs
    this.#ended = true
  }

  #fields() {
    const { index: step, model, purpose } = this.#call
    const { provider, modelId } = model
    return { step, attempt: this.#attempt, provider, model: modelId, ...defined({ purpose }) }
  }
}

/** A question to a model outside an agent's loop. */
export interface Question {
  readonly system: string
  readonly prompt: string
  readonly signal: AbortSignal
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
}

/** The text of a model's answer. @throws RUN_ERR_MODEL_…, the signal's reason */
export async function askModel(model: LanguageModelV4, question: Question): Promise<string> {
  try {
    return await ask(model, question)
  } catch (err) {
    question.signal.throwIfAborted()
    // The provider's message may contain a key.
    throw toModelFault(err).error
  }
}

async function ask(
  model: LanguageModelV4,
  { system, prompt, signal, responseFormat }: Question
): Promise<string> {
  const messages: LanguageModelV4Message[] = []
  appendMessage(messages, { role: 'system', content: system })
  appendMessage(messages, { role: 'user', content: [{ type: 'text', text: prompt }] })
  const { stream } = await model.doStream({
    prompt: messages,
    abortSignal: signal,
    ...(responseFormat && { responseFormat })
  })
  const answer = new ModelAnswer()
  for await (const part of stream) answer.take(part)
  if (answer.ended?.unified !== 'stop') throw new Error('the model did not end its answer')
  return answer.text
}

/** How transient failures of a model are retried. Times are milliseconds. */
export interface Retry {
  /** Total calls, including the first. */
  readonly attempts: number
  /** The maximum wait before the second attempt; doubles with each attempt. */
  readonly baseDelay: number
  /** The maximum wait; if the provider requests a longer one, the run fails. */
  readonly maxDelay: number
}

export const RetrySchema = Type.Object(
  {
    attempts: Type.Optional(Type.Integer({ minimum: 1, description: 'Calls in all; default 3' })),
    baseDelay: Type.Optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 500' })),
    maxDelay: Type.Optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 30,000' }))
  } satisfies Record<keyof Retry, TSchema>,
  { additionalProperties: false }
)

export const RETRY_DEFAULTS: Retry = { attempts: 3, baseDelay: 500, maxDelay: 30_000 }

/**
 * Milliseconds until the next attempt: the provider's request, else exponential backoff with full jitter; undefined if
 * there is no next attempt.
 */
export function retryDelay(
  fault: ModelFault,
  attempt: number,
  retry: Retry,
  random = Math.random
): number | undefined {
  const { transient, retryAfter } = fault
  if (!transient || attempt >= retry.attempts) return undefined
  if (retryAfter !== undefined && retryAfter > 0) return retryAfter > retry.maxDelay ? undefined : retryAfter
  return backoffDelay(attempt, retry, random)
}
