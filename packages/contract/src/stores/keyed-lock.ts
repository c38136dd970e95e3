import { PassingMap } from './passing-map.ts'

/** Releases a lock; a second call does nothing. */
export type Release = () => void

interface Waiting {
  begin(): void
}

/** A mutex per key, granted in call order. */
export class KeyedLock {
  // The held keys, each with its queue.
  readonly #held = new PassingMap<string, Waiting[]>()

  /** Locks a key; synchronously if it is free. @throws the signal's reason if it aborts first */
  lock(key: string, signal: AbortSignal): Release | Promise<Release> {
    signal.throwIfAborted()
    const queue = this.#held.get(key)
    if (queue !== undefined) return this.#wait(key, queue, signal)
    this.#held.set(key, [])
    return this.#release(key)
  }

  #wait(key: string, queue: Waiting[], signal: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      const abandon = () => {
        queue.splice(queue.indexOf(waiting), 1)
        reject(signal.reason as Error)
      }
      const waiting = {
        begin: () => {
          signal.removeEventListener('abort', abandon)
          resolve(this.#release(key))
        }
      }
      signal.addEventListener('abort', abandon, { once: true })
      queue.push(waiting)
    })
  }

  #release(key: string): Release {
    let released = false
    return () => {
      if (released) return
      released = true
      const next = this.#held.get(key)?.shift()
      if (next === undefined) this.#held.delete(key)
      else next.begin()
    }
  }
}
