import type { PartSink, PushedParts, YieldedPart } from '@svc/contract'
import { leaveStream } from '../runnables/collect-stream.ts'

/** The stream of an executing runnable, which pushes its parts or is asked for each. */
export class PartSource {
  readonly #stream: AsyncIterable<YieldedPart> | (AsyncIterable<YieldedPart> & PushedParts)
  #iterator: AsyncIterator<YieldedPart> | undefined
  #isLeft = false

  constructor(stream: AsyncIterable<YieldedPart>) {
    this.#stream = stream
  }

  /** Delivers every part to the sink, until the stream ends or is left. @throws the errors of both */
  async deliverTo(sink: PartSink): Promise<void> {
    const stream = this.#stream
    if (isPushed(stream)) {
      this.#iterator = stream
      await stream.pushTo(sink)
    } else {
      this.#iterator = stream[Symbol.asyncIterator]()
      for (;;) {
        const { done, value } = await this.#iterator.next()
        if (this.#isLeft || done) break
        const waiting = sink(value)
        if (this.#isLeft) break
        if (waiting !== undefined) await waiting
      }
    }
    if (!this.#isLeft) this.#iterator = undefined
  }

  /** Ends the stream, which may notice later; what it throws then goes to `onFault`. */
  leave(onFault: (err: unknown) => void): void {
    this.#isLeft = true
    void leaveStream(this.#iterator, onFault)
  }
}

function isPushed(stream: AsyncIterable<YieldedPart>): stream is AsyncIterable<YieldedPart> & PushedParts {
  return typeof (stream as Partial<PushedParts>).pushTo === 'function'
}
