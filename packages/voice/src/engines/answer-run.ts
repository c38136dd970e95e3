import { setImmediate as nextTurn } from 'node:timers/promises'
import { ZERO_USAGE, type ChildCaller, type RunInput, type Runnable, type YieldedPart } from '@svc/contract'
import { runChild } from '@svc/runtime/loop'
import { AnswerDelivery } from './answer-delivery.ts'
import type { AnswerRequest, EngineHost, PlayedAnswer } from './engine.ts'

/** One answer of a call. */
export interface AnswerCall {
  readonly host: EngineHost
  readonly runnable: Runnable
  readonly request: AnswerRequest
  readonly input: RunInput
  /** What the client of the call gave. */
  readonly caller: ChildCaller | undefined
  /** Ends the answer with its engine. */
  readonly signal: AbortSignal
  /** Takes each increment of the answer's text before its part is written. */
  readonly onText?: (delta: string) => void
  /** Called once, when the whole text is generated; resolves when its audio was sent too. */
  readonly onComplete?: () => Promise<void>
}

/** Has a runnable answer a turn as a child of the call, and waits until the answer is played or interrupted. */
export class AnswerRun {
  readonly #call: AnswerCall
  readonly #delivery: AnswerDelivery
  #hasText = false
  #isComplete = false
  readonly #isPlayed = Promise.withResolvers<void>()

  constructor(call: AnswerCall) {
    this.#call = call
    this.#delivery = new AnswerDelivery((hasText) => void this.#complete(hasText))
  }

  /** Runs the answer; reports its end with `response.end`. Never throws. */
  async run(): Promise<void> {
    const { host, runnable, request, input, caller, signal } = this.#call
    try {
      const { usage } = await runChild({
        runnable,
        input,
        context: host.context,
        signal,
        name: runnable.name,
        key: `turn-${request.index}`,
        unsourced: true,
        answersCaller: true,
        caller,
        delivery: this.#delivery,
        emit: (part) => this.#take(part)
      })
      // Runnables that do not deliver their answer themselves.
      if (!this.#isComplete) await this.#complete(this.#hasText)
      if (this.#hasText) await this.#isPlayed.promise
      host.notify({ type: 'response.end', usage })
    } catch (error) {
      host.notify({ type: 'response.end', usage: ZERO_USAGE, error })
    }
  }

  /** All of the answer was played. */
  delivered(): void {
    this.#delivery.delivered()
    this.#isPlayed.resolve()
  }

  /** The answer ends early. */
  interrupt(played: Pick<PlayedAnswer, 'text'>): void {
    this.#delivery.interrupt(played)
    this.#isPlayed.resolve()
  }

  #take(part: YieldedPart): Promise<void> {
    const { host, onText } = this.#call
    if (part.type === 'text' && !part.source?.length) {
      this.#hasText = true
      onText?.(part.text)
      host.notify({ type: 'text', delta: part.text })
    }
    return host.emit(part)
  }

  async #complete(hasText: boolean): Promise<void> {
    this.#isComplete = true
    if (!hasText) return this.delivered()
    await this.#call.onComplete?.()
    // The part of the last step comes first, if there is one: its usage is that of the response.
    await nextTurn()
    if (!this.#delivery.interrupted.aborted) this.#call.host.notify({ type: 'answer.end' })
  }
}
