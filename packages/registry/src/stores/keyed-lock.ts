import { PassingMap } from './passing-map.ts'

/** Ends a turn that `KeyedLock.lock` began; a second call does nothing. */
export type Release = () => void

interface Waiting {
  begin(): void
}

/** One turn at a time for each key, in the order of the calls. */
export class KeyedLock {
  // Held keys, each with those who wait for it.
  readonly #held = new PassingMap<string, Waiting[]>()

  /** Takes the key: at once when it is free, else when its turn comes. @throws the signal's reason when it aborts first */
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
