import { toLoggable, type EventBus, type RunLog } from '@svc/contract'

type AnyListener = (event: unknown) => unknown

/** Creates an event bus. Errors of listeners go to `log`; without a log they are dropped. */
export function createEventBus(log?: Pick<RunLog, 'error'>): EventBus {
  const listeners = new Map<string, Set<AnyListener>>()
  const report = (err: unknown, event: string) => {
    try {
      log?.error({ err: toLoggable(err), event }, 'event listener failed')
    } catch {
      // A log that throws must not affect the emitter.
    }
  }

  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set)
      const each: AnyListener = (event) => listener(event as never)
      set.add(each)
      return () => {
        set.delete(each)
        if (set.size === 0 && listeners.get(name) === set) listeners.delete(name)
      }
    },
    has: (name) => listeners.has(name),
    emit(name, event) {
      const set = listeners.get(name)
      if (set === undefined) return
      for (const listener of [...set]) {
        try {
          const answer = listener(event)
          if (answer instanceof Promise) answer.catch((err: unknown) => report(err, name))
        } catch (err) {
          report(err, name)
        }
      }
    }
  }
}
