import { outcomeOf, type Call, type Outcome } from '../conversation.ts'
import { bareOf, trimEnd, type Question, type Reader } from './question.ts'
import { zoneOf } from './time-zones.ts'

const END = String.raw`(?= (?:is it|it is|now|today|right now|please|in|at|for|do we)\b|$)`
const ASKED = new RegExp(
  String.raw`\b(?:what(?:'s| is)?|current|local|tell me) (?:the )?(?:current |local )?(?:time|date|day|year|month)${END}|^(?:time|date)${END}|\btime is it\b|\btime difference between\b`
)
const FOLLOW_UP = /^(?:and|what about|how about) (?:in |for |at )?/i
const MAX_PLACES = 8

/** Reads a question for the time and date, in one place or several. */
export const readClock: Reader = (text, { calls }) => {
  const plain = trimEnd(text)
  if (ASKED.test(bareOf(text)))
    return toQuestion(placesIn(/\b(?:in|at|for|between) (.+)$/i.exec(plain)?.[1] ?? ''))
  if (calls.at(-1)?.toolName !== 'current_time' || !FOLLOW_UP.test(plain)) return undefined
  const places = placesIn(plain.replace(FOLLOW_UP, ''))
  return places.some((place) => zoneOf(place) !== undefined) ? toQuestion(places) : undefined
}

function placesIn(text: string): string[] {
  return text
    .replace(/\b(?:right now|now|today|please|there|here)\b/gi, '')
    .split(/ ?[,;&] ?|\b(?:and|or|in)\b/i)
    .map((place) => place.trim())
    .filter((place) => place !== '')
    .slice(0, MAX_PLACES)
}

function toQuestion(places: readonly string[]): Question {
  const zones = places.length === 0 ? [undefined] : places.flatMap((place) => zoneOf(place) ?? [])
  return {
    calls: () => zones.map(callFor),
    answer: (outcomes) =>
      (places.length === 0 ? [undefined] : places).map((place) => answerFor(place, outcomes)).join('\n')
  }
}

function callFor(timeZone: string | undefined): Call {
  return { toolName: 'current_time', args: timeZone === undefined ? {} : { timeZone } }
}

function answerFor(place: string | undefined, outcomes: readonly Outcome[]): string {
  const zone = place === undefined ? undefined : zoneOf(place)
  if (place !== undefined && zone === undefined)
    return `I know no single time zone for “${place}”. Name a city, or an IANA zone such as Europe/Berlin.`
  const outcome = outcomeOf(outcomes, callFor(zone))
  if (outcome === undefined) return 'I cannot say: the tool `current_time` is not available here.'
  const result = (outcome.result ?? {}) as Record<string, string>
  const { time, weekday, date, timeZone, utcOffset, error = outcome.error } = result
  if (error !== undefined) return `I could not read the clock: ${error}.`
  const where = place === undefined ? `where this service runs (${timeZone})` : `in ${place} (${utcOffset})`
  return `It is ${time} on ${weekday}, ${date} ${where}.`
}
