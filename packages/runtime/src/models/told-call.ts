import { isTellable, RUN_ERR_CANCELED } from '@svc/registry'
import { RUN_ERR_MODEL_FAILED, toToolError } from '../errors.ts'
import type { ModelCalls } from './model-step.ts'
import type { ModelAnswer } from './model-answer.ts'

/** Tells the events of one model call: that it begins, and once how it ended. */
export class ToldCall {
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

  /** It was left before its end: its run ended, or its reader went away. */
  leave(reason: unknown): void {
    this.fail(isTellable(reason) ? reason : new RUN_ERR_CANCELED())
  }

  #call() {
    const { provider, modelId: model } = this.#calls.model
    return { step: this.#step, attempt: this.#attempt, provider, model }
  }
}
