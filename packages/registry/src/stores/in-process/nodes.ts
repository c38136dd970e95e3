import type { ControlBus, ControlMessage, Counted, CounterStore, CounterWindow } from '@svc/contract'

/** Control messages within one process. */
export function createInProcessControlBus(): ControlBus {
  const listeners = new Set<(message: ControlMessage) => void>()
  return {
    publish(message) {
      for (const listener of Array.from(listeners)) listener(message)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}

/**
 * A map of recently used entries, at least `size` and at most twice as many. It has two generations: when the young one is full it
 * becomes the old one, and entries unused since then are dropped with the previous old one. Dropping costs nothing per entry, unless
 * there is a listener.
 */
export class RecentMap<V> {
  readonly #size: number
  readonly #onDrop: ((value: V) => void) | undefined
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  /** @param onDrop called with each value that is dropped, if there is one */
  constructor(size: number, onDrop?: (value: V) => void) {
    this.#size = size
    this.#onDrop = onDrop
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#size && !this.#young.has(key)) {
      const dropped = this.#old
      this.#old = this.#young
      this.#young = new Map()
      if (this.#onDrop !== undefined)
        for (const [old, each] of dropped) if (!this.#old.has(old)) this.#onDrop(each)
    }
    this.#young.set(key, value)
  }

  /** Every entry, once; they do not count as used. */
  *values(): Iterable<V> {
    yield* this.#young.values()
    for (const [key, value] of this.#old) if (!this.#young.has(key)) yield value
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}

// Counts at least this many recent keys, and at most twice as many.
const MAX_KEYS = 10_000

/** The longest window, in milliseconds. */
export const MAX_COUNTER_WINDOW = 1_000_000_000_000

/** Counts within one process. */
export function createInProcessCounterStore(): CounterStore {
  const windows = new RecentMap<{ count: number; endsAt: number }>(MAX_KEYS)
  return {
    increment(key: string, window: CounterWindow): Counted {
      const now = performance.now()
      const before = windows.get(key)
      const current =
        before !== undefined && before.endsAt > now ? before : { count: 0, endsAt: now + window.length }
      if (current !== before) windows.set(key, current)
      current.count++
      if (current.count > 1)
        current.endsAt = Math.max(current.endsAt, now + extensionOf(current.count, window))
      return { count: current.count, left: Math.ceil(current.endsAt - now) }
    }
  }
}

// Milliseconds from now.
function extensionOf(
  count: number,
  { length, max = Infinity, extension = 'restart' }: CounterWindow
): number {
  if (count <= max) return 0
  return extension === 'restart' ? length : Math.min(length * 2 ** (count - max - 1), MAX_COUNTER_WINDOW)
}
