import type { RateLimitPluginOptions } from '@fastify/rate-limit'
import { unlessLate, type Counted, type CounterStore, type CounterWindow } from '@svc/contract'
import { createInProcessCounterStore } from '@svc/surface'

/** What `@fastify/rate-limit` counts with. */
type Store = NonNullable<RateLimitPluginOptions['store']>
type Counting = InstanceType<Store>

/** What its stores are given, beyond its types; `routeInfo` by routes with options of their own. */
interface Given {
  readonly continueExceeding?: boolean
  readonly exponentialBackoff?: boolean
  readonly routeInfo?: { readonly method?: unknown; readonly url?: string }
}

/** Milliseconds for the store to count a request. */
const PATIENCE = 500
/** Milliseconds that a process counts by itself after the store failed. */
const PAUSE = 1_000

/** Counts with a store, and without it while that fails. */
class PatientCounter {
  readonly #counters: CounterStore
  readonly #own = createInProcessCounterStore()
  #ownUntil = -Infinity

  constructor(counters: CounterStore) {
    this.#counters = counters
  }

  async increment(key: string, window: CounterWindow): Promise<Counted> {
    if (performance.now() < this.#ownUntil) return this.#own.increment(key, window)
    try {
      return await unlessLate(PATIENCE, () => new Error('timeout'), this.#counters.increment(key, window))
    } catch {
      // The engine logs the failures of its stores.
      this.#ownUntil = performance.now() + PAUSE
      return this.#own.increment(key, window)
    }
  }
}

/**
 * Creates a store of `@fastify/rate-limit` that counts over all nodes. While the counters fail, or take longer than 500 ms, each node
 * counts by itself.
 * @param place distinguishes the limits of several plugins on the same stores
 */
export function countOverNodes(counters: CounterStore, place: string): Store {
  const counter = new PatientCounter(counters)

  return class SharedCounts implements Counting {
    readonly #place: string
    readonly #extension: CounterWindow['extension']

    constructor(given: object) {
      const { continueExceeding, exponentialBackoff, routeInfo } = given as Given
      const { method, url } = routeInfo ?? {}
      this.#place = routeInfo === undefined ? place : `${place} ${String(method)} ${url}`
      this.#extension = continueExceeding ? 'restart' : exponentialBackoff ? 'double' : undefined
    }

    incr(key: string, callback: Callback, timeWindow: number, max: number): void {
      const extension = this.#extension
      const window = { length: timeWindow, ...(extension && { max, extension }) }
      void answer(counter.increment(`rate-limit ${this.#place} ${key}`, window), callback)
    }

    child(options: object): Counting {
      return new SharedCounts(options)
    }
  }
}

type Callback = Parameters<Counting['incr']>[1]

async function answer(counting: Promise<Counted>, callback: Callback): Promise<void> {
  const { count, left } = await counting
  callback(null, { current: count, ttl: left })
}
