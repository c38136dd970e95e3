import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'

/** Gives the time, in a time zone or where the service runs. */
export const currentTime = defineTool({
  name: 'current_time',
  description: 'Gives the current date and time, in an IANA time zone or else where the service runs.',
  inputSchema: Type.Object(
    {
      timeZone: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'IANA time zone, for example Asia/Tokyo' })
      )
    },
    { additionalProperties: false }
  ),
  execute: ({ timeZone }) => formatTime(new Date(), timeZone)
})

/** Formats a moment for people; an unknown time zone gives an `error`. */
export function formatTime(now: Date, timeZone?: string) {
  const zone = timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      weekday: 'long',
      timeZoneName: 'longOffset'
    })
  } catch {
    return { timeZone: zone, error: `there is no time zone “${zone}”` }
  }
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]))
  const utcOffset = String(parts['timeZoneName']).replace('GMT', 'UTC')
  return {
    timeZone: zone,
    time: `${parts['hour']}:${parts['minute']}:${parts['second']}`,
    weekday: String(parts['weekday']),
    date: `${parts['day']} ${parts['month']} ${parts['year']}`,
    utcOffset,
    instant: now.toISOString()
  }
}
