import type { RunEventMap } from './run-events.ts'

/**
 * The events of a bus by name. Packages that emit add theirs by declaration merging:
 * `declare module '@svc/registry' { interface EventMap { 'tool.call': ToolCallEvent } }`.
 */
export interface EventMap extends RunEventMap {}

/** The name of an event. */
export type EventName = keyof EventMap & string
/** A listener for one event. */
export type EventListener<N extends EventName> = (event: EventMap[N]) => unknown

/** Life-cycle events. A listener that throws, rejects or is slow never affects the emitter. */
export interface EventBus {
  /** Listens until the returned function is called. */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void
  /** True if anyone listens; an emitter asks first, so that it builds no payload in vain. */
  has(name: EventName): boolean
  emit<N extends EventName>(name: N, event: EventMap[N]): void
}
