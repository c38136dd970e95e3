import type { ControlBus, ControlMessage, Counted, CounterStore, CounterWindow } from '@svc/contract'
import { RecentMap } from './aging-map.ts'

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
