import type { ControlBus, ControlMessage } from '@svc/contract'

/** Control messages within one process. */
export function createInProcessControlBus(): ControlBus {
  const listeners = new Set<(message: ControlMessage) => void>()
  return {
    publish(message) {
      for (const listener of [...listeners]) listener(message)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}
