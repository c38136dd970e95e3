import { outcomeOf, type ToolOutcome } from '../conversation.ts'
import type { Intent } from '../intents/intent.ts'
import { clockCall } from '../plan.ts'

interface ClockResult {
  time: string
  date: string
  weekday: string
  timeZone: string
  utcOffset: string
  error: string
}

/** Tells the time or the date at each place that was asked for. */
export function answerClock(
  { aspect, places }: Extract<Intent, { type: 'clock' }>,
  outcomes: readonly ToolOutcome[]
): string {
  if (places.length === 0) return tell(aspect, undefined, outcomeOf(outcomes, clockCall(undefined)))
  return places
    .map((place) => {
      if (place.zone === null)
        return `I know no single time zone for “${place.label}”. Name a city, or an IANA zone such as Europe/Berlin.`
      return tell(aspect, place.label, outcomeOf(outcomes, clockCall(place)))
    })
    .join('\n')
}

function tell(aspect: 'time' | 'date', label: string | undefined, outcome: ToolOutcome | undefined): string {
  if (outcome === undefined) return 'I cannot tell: the tool `current_time` is not available here.'
  const {
    time,
    date,
    weekday,
    timeZone,
    utcOffset,
    error = outcome.error
  } = (outcome.result ?? {}) as Partial<ClockResult>
  if (error !== undefined) return `I could not tell the time: ${error.replace(/\.$/, '')}.`
  const where =
    label === undefined
      ? ` where this service runs (${timeZone})`
      : ` in ${label}${label.toUpperCase() === utcOffset ? '' : ` (${utcOffset})`}`
  if (aspect === 'date') return `It is ${weekday}, ${date}${where}.`
  return `It is ${time} on ${weekday}, ${date}${where}.`
}
