import type { PartSink, PushedParts, YieldedPart } from '@svc/contract'

/**
 * The parts of one run, pulled as from any generator, or pushed. Pushed, a generator passes the parts of which there are many, such
 * as those of a model, to the sink itself: to yield each of them would cost more than all else that is done with it.
 */
export class PartStream implements AsyncGenerator<YieldedPart, void>, PushedParts {
  readonly #begin: (sink: PartSink | undefined) => AsyncGenerator<YieldedPart, void>
  #parts: AsyncGenerator<YieldedPart, void> | undefined

  /** @param begin called once, with the sink if the parts are pushed */
  constructor(begin: (sink: PartSink | undefined) => AsyncGenerator<YieldedPart, void>) {
    this.#begin = begin
  }

  async pushTo(sink: PartSink): Promise<void> {
    this.#parts = this.#begin(sink)
    for await (const part of this.#parts) {
      const waiting = sink(part)
      if (waiting !== undefined) await waiting
    }
  }

  async next(): Promise<IteratorResult<YieldedPart, void>> {
    this.#parts ??= this.#begin(undefined)
    return this.#parts.next()
  }

  async return(): Promise<IteratorResult<YieldedPart, void>> {
    return (this.#parts ??= nothing()).return()
  }

  async throw(err: unknown): Promise<IteratorResult<YieldedPart, void>> {
    return (this.#parts ??= nothing()).throw(err)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}

// A stream that is left before it begins has nothing to end.
async function* nothing(): AsyncGenerator<never, void> {}
