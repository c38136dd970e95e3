import type { RunEventMap } from './run-event-schemas.ts'
import { toLoggable } from '../logging/to-loggable.ts'
import type { RunLog } from '../contract/run-context.ts'

/**
 * The events of a bus by name. Packages that emit add theirs by declaration merging:
 * `declare module '@svc/registry' { interface EventMap { 'tool.call': ToolCallEvent } }`.
 */
export interface EventMap extends RunEventMap {}

/** The name of an event. */
export type EventName = keyof EventMap & string
/** A listener for one event. */
export type EventListener<N extends EventName> = (event: EventMap[N]) => unknown

/** Life-cycle events. A listener that throws, rejects or is slow never touches what emits. */
export interface EventBus {
  /** Listens until the returned function is called. */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void
  /** Whether anyone listens: who emits asks first and builds no payload for nobody. */
  has(name: EventName): boolean
  emit<N extends EventName>(name: N, event: EventMap[N]): void
}

type AnyListener = (event: unknown) => unknown

/** Makes a bus. Faults of listeners go to `log`; without one they are dropped. */
export function createEventBus(log?: Pick<RunLog, 'error'>): EventBus {
  const listeners = new Map<string, Set<AnyListener>>()
  const report = (err: unknown, event: string) => {
    try {
      log?.error({ err: toLoggable(err), event }, 'event listener failed')
    } catch {
      // A log that throws is no reason to touch what emits.
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
