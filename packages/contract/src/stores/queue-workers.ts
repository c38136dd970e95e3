/** The servers of the queue in one process; see `RunQueue.serve`. */
export class QueueWorkers {
  readonly #servers = new Set<QueueServer>()

  /** As `RunQueue.serve`. */
  serve(concurrency: number, take: () => Promise<boolean>): () => Promise<void> {
    const server = new QueueServer(concurrency, take)
    this.#servers.add(server)
    server.look()
    return () => {
      this.#servers.delete(server)
      return server.stop()
    }
  }

  /** @param count how many runs may begin, if that is known */
  look(count?: number): void {
    for (const server of this.#servers) server.look(count)
  }
}

class QueueServer {
  readonly #concurrency: number
  readonly #take: () => Promise<boolean>
  #busy = 0
  // How often runs may have begun to wait; a call of `take` may have missed those after it began.
  #news = 0
  #isStopped = false
  #idle: (() => void) | undefined

  constructor(concurrency: number, take: () => Promise<boolean>) {
    this.#concurrency = concurrency
    this.#take = take
  }

  look(count = Infinity): void {
    this.#news++
    for (let left = count; left > 0 && this.#busy < this.#concurrency; left--) void this.#work()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#busy > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  async #work(): Promise<void> {
    this.#busy++
    for (let seen = -1, found = true; !this.#isStopped && (found || seen !== this.#news);) {
      seen = this.#news
      found = await this.#take()
    }
    this.#busy--
    if (this.#busy === 0) this.#idle?.()
  }
}
