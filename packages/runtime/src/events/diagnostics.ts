import { channel, type Channel } from 'node:diagnostics_channel'
import { EVENT_SCHEMAS, type RuntimeEvents } from './events.ts'

/** The name of the diagnostics channel on which an event is published, e.g. `svc:run.start`. */
export function channelName(event: keyof RuntimeEvents): string {
  return `svc:${event}`
}

/** The diagnostics channels, one for each event. */
export const CHANNELS = Object.fromEntries(
  Object.keys(EVENT_SCHEMAS).map((event) => [event, channel(channelName(event as keyof RuntimeEvents))])
) as Readonly<Record<keyof RuntimeEvents, Channel>>
