import type { Release } from '@svc/registry'

interface Waiting {
  readonly weight: number
  begin(): void
}

/** Admits so much at once, first come, first served. What weighs more than all that there is has to itself. */
export class Budget {
  readonly #total: number
  #free: number
  #waiting: Waiting[] = []

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  /** Resolves when there is room; the release gives it back, once. @throws the signal's reason when it aborts first */
  take(weight: number, signal: AbortSignal): Promise<Release> {
    const share = Math.min(weight, this.#total)
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const abandon = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting)
        reject(signal.reason as Error)
        this.#admit()
      }
      const waiting: Waiting = {
        weight: share,
        begin: () => {
          signal.removeEventListener('abort', abandon)
          resolve(this.#release(share))
        }
      }
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(waiting)
      this.#admit()
    })
  }

  #admit(): void {
    for (;;) {
      const next = this.#waiting[0]
      if (next === undefined || next.weight > this.#free) return
      this.#waiting.shift()
      this.#free -= next.weight
      next.begin()
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
