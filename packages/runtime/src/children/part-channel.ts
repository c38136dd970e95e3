import type { YieldedPart } from '@svc/contract'

/** Emits a part; resolves when its reader asks for the next one. */
export type Emit = (part: YieldedPart) => Promise<void>

interface Offered extends PromiseWithResolvers<void> {
  part: YieldedPart
}

/** Merges the parts of parallel members and steps in order of arrival. A writer waits until its part is read. */
export class PartChannel {
  #offered: Offered[] = []
  #taken: Offered | undefined
  #news: PromiseWithResolvers<void> | undefined
  #closed: { reason: unknown } | undefined

  readonly put: Emit = (part) => {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.reason)
    const offered = { part, ...Promise.withResolvers<void>() }
    this.#offered.push(offered)
    this.wake()
    return offered.promise
  }

  /** The next part; undefined if none is ready. */
  take(): YieldedPart | undefined {
    this.#taken = this.#offered.shift()
    return this.#taken?.part
  }

  /** The part that was taken is read: its writer continues. */
  done(): void {
    this.#taken?.resolve()
  }

  /** Resolves on the next part or wake-up. */
  news(): Promise<void> {
    this.#news ??= Promise.withResolvers()
    return this.#offered.length > 0 ? Promise.resolve() : this.#news.promise
  }

  wake(): void {
    this.#news?.resolve()
    this.#news = undefined
  }

  /** Rejects pending and later writes with `reason`. */
  close(reason: unknown): void {
    this.#closed = { reason }
    const left = this.#offered.splice(0)
    if (this.#taken !== undefined) left.push(this.#taken)
    for (const { reject, promise } of left) {
      promise.catch(() => {})
      reject(reason)
    }
  }
}

/** Yields the parts of `main` and of the channel as they arrive; returns the value of `main`. */
export async function* interleave<R>(
  main: AsyncGenerator<YieldedPart, R, void>,
  channel: PartChannel
): AsyncGenerator<YieldedPart, R> {
  let next: PromiseSettledResult<IteratorResult<YieldedPart, R>> | undefined
  const advance = async () => {
    next = undefined
    ;[next] = await Promise.allSettled([main.next()])
    channel.wake()
  }
  try {
    void advance()
    for (;;) {
      for (let part; (part = channel.take()) !== undefined;) {
        yield part
        channel.done()
      }
      if (next === undefined) {
        await channel.news()
        continue
      }
      if (next.status === 'rejected') throw next.reason
      if (next.value.done) return next.value.value
      yield next.value.value
      void advance()
    }
  } finally {
    main.return(undefined as never).catch(() => {})
  }
}

/** Adapts a promise to the `main` of `interleave`. */
// oxlint-disable-next-line require-yield -- it has no parts of its own
export async function* awaiting<R>(work: () => Promise<R>): AsyncGenerator<YieldedPart, R, void> {
  return await work()
}
