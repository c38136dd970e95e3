import type { PartSink, PushedParts, YieldedPart } from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'

type Parts = AsyncGenerator<YieldedPart, void>
type Result = IteratorResult<YieldedPart, void>
/** Pushes every part of a run; each waits for what the sink returns for the one before. */
type Push = (sink: PartSink) => Promise<void>

/**
 * Parts that are pushed, or pulled by a reader: then nothing runs ahead of it, and the run ends with RUN_ERR_CANCELED when it leaves.
 * Like a generator, but one promise carries a part to its reader.
 */
export class PushedStream implements Parts, PushedParts {
  readonly #push: Push
  // Settles with the run; undefined unless a reader pulls.
  #pushing: Promise<void> | undefined
  #requests: PromiseWithResolvers<Result>[] = []
  // Holds the run back until the reader asks for more.
  #held: PromiseWithResolvers<void> | undefined
  // Why the run failed, until the reader knows.
  #fault: { readonly err: unknown } | undefined
  #left: Error | undefined
  #isOver = false

  /** @param push called once, when the parts are read */
  constructor(push: Push) {
    this.#push = push
  }

  pushTo(sink: PartSink): Promise<void> {
    return this.#push(sink)
  }

  next(): Promise<Result> {
    if (this.#isOver || this.#left !== undefined) return this.#last()
    const request = Promise.withResolvers<Result>()
    this.#requests.push(request)
    if (this.#pushing === undefined) this.#begin()
    else {
      this.#held?.resolve()
      this.#held = undefined
    }
    return request.promise
  }

  async return(): Promise<Result> {
    if (this.#pushing === undefined) this.#isOver = true
    else if (!this.#isOver) {
      this.#left ??= new RUN_ERR_CANCELED()
      this.#held?.reject(this.#left)
      this.#held = undefined
      await this.#pushing.catch(() => {})
    }
    this.#fault = undefined
    return { done: true, value: undefined }
  }

  async throw(err: unknown): Promise<Result> {
    await this.return()
    throw err
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  #begin(): void {
    this.#pushing = this.#push((part) => this.#offer(part))
    this.#pushing.then(
      () => this.#end(undefined),
      (err: unknown) => this.#end({ err })
    )
  }

  // A reader that leaves gets first what it has asked for.
  #offer(part: YieldedPart): Promise<void> | undefined {
    if (this.#left !== undefined && this.#requests.length === 0) throw this.#left
    this.#requests.shift()?.resolve({ done: false, value: part })
    if (this.#requests.length > 0) return undefined
    if (this.#left !== undefined) throw this.#left
    this.#held = Promise.withResolvers()
    return this.#held.promise
  }

  #end(fault: { readonly err: unknown } | undefined): void {
    this.#isOver = true
    this.#fault = fault
    for (const { resolve } of this.#requests.splice(0)) resolve(this.#last())
  }

  async #last(): Promise<Result> {
    const fault = this.#fault
    this.#fault = undefined
    if (fault !== undefined) throw fault.err
    return { done: true, value: undefined }
  }
}

/** Pushes the parts of a generator; returns its value. @throws the errors of both */
export async function pushAll<R>(parts: AsyncGenerator<YieldedPart, R, void>, sink: PartSink): Promise<R> {
  try {
    for (;;) {
      const { done, value } = await parts.next()
      if (done === true) return value
      const waiting = sink(value)
      if (waiting !== undefined) await waiting
    }
  } catch (err) {
    await parts.return(undefined as never)
    throw err
  }
}

/** True if a stream can push its parts. */
export function isPushed<S extends object>(stream: S): stream is S & PushedParts {
  return typeof (stream as Partial<PushedParts>).pushTo === 'function'
}
