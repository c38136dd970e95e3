import type { Awaitable } from './ports/awaitable.ts'

/** The beginning of a text that was delivered. */
export interface Delivered {
  readonly text: string
  /** True if this text, or one before it, was not delivered to its end. */
  readonly interrupted: boolean
}

/**
 * How the answer of a run or child is delivered where that takes longer than to generate it: as speech. The answer is conversation only
 * as far as it was delivered; the session keeps no more.
 */
export interface Delivery {
  /** Aborts when the user interrupts the answer. Running tools still finish; the model is not called again. */
  readonly interrupted: AbortSignal
  /**
   * Takes the text of each step once it is generated, in order; together they are the `text` parts so far. Resolves once the text is
   * delivered, or with its beginning as soon as the answer is interrupted or the signal of the context aborts.
   * @param options `last`: the answer is complete; the text may be empty
   */
  settle(text: string, options: { readonly last: boolean }): Awaitable<Delivered>
}
