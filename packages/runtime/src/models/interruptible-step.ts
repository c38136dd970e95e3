import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { PartOf, YieldedPart } from '@svc/contract'
import { AnswerGuard, type RunGuard } from '../guards/guard.ts'
import type { ModelCalls } from './call-report.ts'
import type { ModelAnswer } from './model-answer.ts'
import { ModelStep } from './model-step.ts'

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
