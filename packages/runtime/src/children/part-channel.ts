import type { YieldedPart } from '@svc/registry'

/** Hands on a part; resolves when it is taken. */
export type Emit = (part: YieldedPart) => Promise<void>

interface Offered extends PromiseWithResolvers<void> {
  part: YieldedPart
}

/** The parts of members and steps that run at once, in the order in which they come. Who gives one waits until it is taken. */
export class PartChannel {
  #offered: Offered[] = []
  #news: PromiseWithResolvers<void> | undefined
  #closed: { reason: unknown } | undefined

  readonly put: Emit = (part) => {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.reason)
    const offered = { part, ...Promise.withResolvers<void>() }
    this.#offered.push(offered)
    this.wake()
    return offered.promise
  }

  /** The next part; undefined when there is none yet. */
  take(): YieldedPart | undefined {
    const offered = this.#offered.shift()
    offered?.resolve()
    return offered?.part
  }

  /** Resolves when there is something to look at. */
  news(): Promise<void> {
    this.#news ??= Promise.withResolvers()
    return this.#offered.length > 0 ? Promise.resolve() : this.#news.promise
  }

  wake(): void {
    this.#news?.resolve()
    this.#news = undefined
  }

  /** Nothing is taken any more: who gives a part is told why. */
  close(reason: unknown): void {
    this.#closed = { reason }
    for (const { reject, promise } of this.#offered.splice(0)) {
      promise.catch(() => {})
      reject(reason)
    }
  }
}

/** What `main` yields, and between that what comes from the channel; gives what `main` gives. */
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
      for (let part; (part = channel.take()) !== undefined;) yield part
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

/** A promise as the main line of `interleave`. */
// oxlint-disable-next-line require-yield -- it has nothing to say of its own
export async function* awaiting<R>(work: () => Promise<R>): AsyncGenerator<YieldedPart, R, void> {
  return await work()
}
