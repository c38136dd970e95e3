import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  ZERO_USAGE,
  type Awaitable,
  type ChildCaller,
  type Delivered,
  type Delivery,
  type RunInput,
  type Runnable,
  type YieldedPart
} from '@svc/contract'
import { runChild } from '@svc/runtime/loop'
import type { AnswerRequest, EngineHost, PlayedAnswer } from './engine.ts'

interface Pending {
  readonly text: string
  /** Where the text begins within the answer, in characters. */
  readonly start: number
  readonly resolve: (delivered: Delivered) => void
}

/** The delivery of one answer: its texts are settled once the call reports how far the answer was played. */
export class AnswerDelivery implements Delivery {
  readonly #controller = new AbortController()
  readonly #onComplete: (hasText: boolean) => void
  readonly #pending: Pending[] = []
  #length = 0
  #end: { readonly played: string; readonly interrupted: boolean } | undefined

  /** @param onComplete called once, when the whole answer is generated */
  constructor(onComplete: (hasText: boolean) => void) {
    this.#onComplete = onComplete
  }

  get interrupted(): AbortSignal {
    return this.#controller.signal
  }

  settle(text: string, { last }: { readonly last: boolean }): Awaitable<Delivered> {
    const start = this.#length
    this.#length += text.length
    if (this.#end !== undefined) return this.#toDelivered(text, start)
    const { promise, resolve } = Promise.withResolvers<Delivered>()
    this.#pending.push({ text, start, resolve })
    if (last) this.#onComplete(this.#length > 0)
    return promise
  }

  /** All of the answer was played. */
  delivered(): void {
    this.#settle('', false)
  }

  /** The answer was cut after this text. */
  interrupt({ text }: Pick<PlayedAnswer, 'text'>): void {
    this.#settle(text, true)
    this.#controller.abort()
  }

  #settle(played: string, interrupted: boolean): void {
    this.#end ??= { played, interrupted }
    for (const { text, start, resolve } of this.#pending.splice(0)) resolve(this.#toDelivered(text, start))
  }

  #toDelivered(text: string, start: number): Delivered {
    const { played, interrupted } = this.#end!
    if (!interrupted) return { text, interrupted }
    const kept = Math.max(0, played.length - start)
    return { text: text.slice(0, kept), interrupted: kept < text.length }
  }
}

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
