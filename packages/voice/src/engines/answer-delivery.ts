import type { Awaitable, Delivered, Delivery } from '@svc/contract'
import type { PlayedAnswer } from './engine.ts'

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
