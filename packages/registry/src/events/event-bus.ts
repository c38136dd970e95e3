import { channel, type Channel } from 'node:diagnostics_channel'
import {
  asItIs,
  NO_METADATA,
  toLoggable,
  type EventBus,
  type EventMap,
  type EventName,
  type RunContext,
  type RunLog,
  type Runnable
} from '@svc/contract'

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
      for (const listener of Array.from(set)) {
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

/** The run that an event belongs to. */
export type EventOrigin = Pick<RunContext, 'events' | 'runId'> &
  Partial<Pick<RunContext, 'source' | 'idempotencyKey' | 'metadata' | 'redact'>>

type Common = 'runId' | 'name' | 'kind' | 'at' | 'source' | 'idempotencyKey' | 'metadata'

/** The fields of an event that not every event has. */
export type EventFields<N extends EventName> = Omit<EventMap[N], Common>

/** The name of the diagnostics channel on which an event is published, e.g. `svc:run.start`. */
export function channelName(event: EventName): string {
  return `svc:${event}`
}

const channels = new Map<EventName, Channel>()

function channelOf(event: EventName): Channel {
  let found = channels.get(event)
  if (found === undefined) channels.set(event, (found = channel(channelName(event))))
  return found
}

/** True if anyone listens to an event, on the bus or on its channel. */
export function isHeard(bus: EventBus, event: EventName): boolean {
  return bus.has(event) || channelOf(event).hasSubscribers
}

/** Emits an event of a run, on the bus and on its channel, without the caller's keys; built only if there is a listener. */
export function emitEvent<N extends EventName>(
  origin: EventOrigin,
  { kind, name }: Pick<Runnable, 'kind' | 'name'>,
  event: N,
  fields: () => EventFields<N>
): void {
  const { events } = origin
  if (!isHeard(events, event)) return
  const { runId, source = [], idempotencyKey = runId, metadata = NO_METADATA, redact = asItIs } = origin
  const payload = {
    runId,
    name,
    kind,
    at: Date.now(),
    ...(source.length > 0 && { source: [...source] }),
    idempotencyKey,
    ...(metadata !== NO_METADATA && { metadata }),
    ...redact(fields())
  } as unknown as EventMap[N]
  events.emit(event, payload)
  const published = channelOf(event)
  if (published.hasSubscribers) published.publish(payload)
}
