import type { LanguageModelV4 } from '@ai-sdk/provider'
import { isTellable, RUN_ERR_CANCELED, type RunContext, type YieldedPart } from '@svc/registry'
import type { RunEvents } from '../events/run-events.ts'
import type { RunGuard } from '../guards/run-guard.ts'
import { RUN_ERR_MODEL_FAILED, toToolError } from '../errors.ts'
import type { ModelAnswer, ProviderCalls } from './model-answer.ts'
import type { Retry } from './retry-model.ts'

/** What the model calls of a run share. */
export interface ModelCalls {
  readonly model: LanguageModelV4
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  readonly retry: Retry
  /** Ids of the tool calls so far. */
  readonly callIds: Set<string>
  readonly providerCalls: ProviderCalls
}

/** Emits the events of one model call: its start, and once its end. */
export class CallReport {
  readonly #calls: ModelCalls
  readonly #step: number
  readonly #attempt: number
  readonly #startedAt = performance.now()
  #ended = false

  constructor(calls: ModelCalls, step: number, attempt: number) {
    this.#calls = calls
    this.#step = step
    this.#attempt = attempt
    calls.events.emit('model.call', () => this.#call())
  }

  end({ finishReason, usage, toolCalls }: ModelAnswer): void {
    this.#ended = true
    this.#calls.events.emit('model.result', () => ({
      ...this.#call(),
      finishReason: toolCalls.length > 0 ? ('tool-calls' as const) : finishReason,
      usage,
      durationMs: performance.now() - this.#startedAt
    }))
  }

  fail(err: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#calls.events.emit('model.error', () => ({
      ...this.#call(),
      error: toToolError(err, new RUN_ERR_MODEL_FAILED()),
      durationMs: performance.now() - this.#startedAt
    }))
  }

  /** Reports calls of tools the provider executes, and their outcomes. */
  take(part: YieldedPart, answer: ModelAnswer): void {
    if (!('toolCallId' in part) || !answer.isProviderCall(part.toolCallId)) return
    const { events } = this.#calls
    const { toolCallId, toolName } = part as Extract<YieldedPart, { type: 'tool.call' }>
    if (part.type === 'tool.call') events.emit('tool.call', () => ({ toolCallId, toolName, args: part.args }))
    else if (part.type === 'tool.result')
      events.emit('tool.result', () => ({
        toolCallId,
        toolName,
        result: part.result,
        durationMs: part.durationMs
      }))
    else if (part.type === 'tool.error')
      events.emit('tool.error', () => ({ toolCallId, toolName, error: part.error, durationMs: 0 }))
  }

  /** The call was left early: the run ended, or its reader went away. */
  leave(reason: unknown): void {
    this.fail(isTellable(reason) ? reason : new RUN_ERR_CANCELED())
  }

  #call() {
    const { provider, modelId: model } = this.#calls.model
    return { step: this.#step, attempt: this.#attempt, provider, model }
  }
}
