import type { Release } from '@svc/contract/stores'

interface Waiter {
  readonly weight: number
  admit(): void
}

/** A weighted semaphore, first come, first served. A share heavier than the total waits for all of it. */
export class Budget {
  readonly #total: number
  #free: number
  #waiting: Waiter[] = []

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  /** Resolves with a release once the share is free. @throws the signal's reason if it aborts first */
  take(weight: number, signal: AbortSignal): Promise<Release> {
    const share = Math.min(weight, this.#total)
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const abandon = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter)
        reject(signal.reason as Error)
        this.#admit()
      }
      const waiter: Waiter = {
        weight: share,
        admit: () => {
          signal.removeEventListener('abort', abandon)
          resolve(this.#release(share))
        }
      }
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(waiter)
      this.#admit()
    })
  }

  #admit(): void {
    for (;;) {
      const next = this.#waiting[0]
      if (next === undefined || next.weight > this.#free) return
      this.#waiting.shift()
      this.#free -= next.weight
      next.admit()
    }
  }

  #release(share: number): Release {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#free += share
      this.#admit()
    }
  }
}
