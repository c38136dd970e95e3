import { outcomeOf, type Call, type Outcome } from '../conversation.ts'
import { bareOf, trimEnd, type Question, type Reader } from './question.ts'
import { zoneOf } from './time-zones.ts'

const END = String.raw`(?= (?:is it|it is|now|today|right now|please|in|at|for|do we)\b|$)`
const TIME = new RegExp(
  String.raw`\b(?:what(?:'s| is)?|current|local|exact|tell me|give me) (?:the )?(?:current |local |exact )?time${END}|^time${END}|\btime is it\b|\btime difference between\b`
)
const DATE = new RegExp(
  String.raw`\bwhat(?:'s| is)? (?:the )?(?:current )?(?:date|day|year|month|weekday)${END}|\b(?:current|today's) date\b|^date${END}`
)
const FOLLOW_UP = /^(?:and|what about|how about) (?:in |for |at )?/i
const NO_PLACE = /^(?:there|here|it|this service|the moment)$/i
const MAX_PLACES = 8

/** Reads a question for the time or the date, in one place or several. */
export const readClock: Reader = (text, { calls }) => {
  const asked = bareOf(text)
  const plain = trimEnd(text)
  if (TIME.test(asked) || DATE.test(asked))
    return toQuestion(placesIn(/\b(?:in|at|for|between) (.+)$/i.exec(plain)?.[1] ?? ''))
  if (calls.at(-1)?.toolName !== 'current_time' || !FOLLOW_UP.test(plain)) return undefined
  const places = placesIn(plain.replace(FOLLOW_UP, ''))
  return places.some((place) => zoneOf(place) !== undefined) ? toQuestion(places) : undefined
}

function placesIn(text: string): string[] {
  return text
    .replace(/\b(?:right now|now|today|please|currently|at the moment)\b/gi, '')
    .split(/ ?[,;&] ?|\b(?:and|or|in|vs)\b/i)
    .map((place) => place.trim())
    .filter((place) => place !== '' && !NO_PLACE.test(place))
    .slice(0, MAX_PLACES)
}

function toQuestion(places: readonly string[]): Question {
  const zones = places.flatMap((place) => zoneOf(place) ?? [])
  return {
    calls: () => (places.length === 0 ? [callFor()] : zones.map((zone) => callFor(zone))),
    answer: (outcomes) =>
      places.length === 0
        ? format(outcomeOf(outcomes, callFor()))
        : places.map((place) => answerFor(place, outcomes)).join('\n')
  }
}

function answerFor(place: string, outcomes: readonly Outcome[]): string {
  const zone = zoneOf(place)
  if (zone !== undefined) return format(outcomeOf(outcomes, callFor(zone)), place)
  return `I know no single time zone for “${place}”. Name a city, or an IANA zone such as Europe/Berlin.`
}

function callFor(timeZone?: string): Call {
  return { toolName: 'current_time', args: timeZone === undefined ? {} : { timeZone } }
}

function format(outcome: Outcome | undefined, place?: string): string {
  if (outcome === undefined) return 'I cannot say: the tool `current_time` is not available here.'
  const result = (outcome.result ?? {}) as Record<string, string>
  const { time, weekday, date, timeZone, utcOffset, error = outcome.error } = result
  if (error !== undefined) return `I could not read the clock: ${error}.`
  const where = place === undefined ? `where this service runs (${timeZone})` : `in ${place} (${utcOffset})`
  return `It is ${time} on ${weekday}, ${date} ${where}.`
}
