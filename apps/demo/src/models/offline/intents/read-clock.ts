import { trimMarks } from '../../../text/trim-marks.ts'
import { zoneOfPlace } from '../time-zones.ts'
import type { Before, Intent, Place } from './intent.ts'

const END = String.raw`(?=\s*(?:$|[,;]|\b(?:is it|it is|now|today|right now|currently|please|there|here|in|at|for|of the day|do we|do you|are we|exactly)\b))`
const ASKED: readonly [RegExp, 'time' | 'date'][] = [
  [
    new RegExp(String.raw`\bwhat(?:'s|s| is| was)?\s+(?:the\s+)?(?:current\s+|exact\s+|local\s+)?time${END}`),
    'time'
  ],
  [new RegExp(String.raw`\b(?:current|local|exact) time${END}`), 'time'],
  [/^(?:the )?time(?: (?:now|please|in .+|at .+))?$/, 'time'],
  [/\b(?:tell|give|show) me the time\b(?!-)/, 'time'],
  [/\b(?:have|got) the time\b(?!-)/, 'time'],
  [/\btime is it\b|\bhow late is it\b|\bwhat hour\b/, 'time'],
  [/\btime difference between\b/, 'time'],
  [
    new RegExp(
      String.raw`\bwhat(?:'s|s| is)?\s+(?:the\s+)?(?:current\s+)?(?:date|day|year|month|weekday|day of the week)${END}`
    ),
    'date'
  ],
  [/\bwhich (?:day|year|month|date)(?: is it| is today| do we)/, 'date'],
  [/\b(?:current|today'?s) (?:date|day|year|month|weekday)\b/, 'date'],
  [/\bwhat(?:'s|s| is) today\b|\bday is (?:it|today)\b|\b(?:tell|give) me the date\b/, 'date'],
  [/^(?:the )?date(?: (?:today|now|please|in .+))?$/, 'date'],
  [/\bwie (?:spät|viel uhr)\b|\bqu(?:é|e) hora\b|\bquelle heure\b|\bche ore?\b/, 'time']
]
const NO_PLACE =
  /^(?:there|here|it|general|the (?:docs|service|demo)|this (?:service|demo)|your (?:location|place|timezone))$/

/** Reads a question for the time or the date, in any number of places. */
export function readClock(text: string, before: Before): Intent | undefined {
  const plain = trimMarks(text, '?!.¿').replaceAll('’', "'").trim()
  const aspect = ASKED.find(([pattern]) => pattern.test(plain.toLowerCase()))?.[1]
  if (aspect === undefined) return goesOn(plain, before)
  return { type: 'clock', aspect, places: placesOf(plain) }
}

// "And in Paris?", after a time.
function goesOn(asked: string, { asked: earlier }: Before): Intent | undefined {
  const last = earlier.at(-1)?.intent
  if (last?.type !== 'clock') return undefined
  const place = /^(?:(?:and|what about|how about|now) )*(?:(?:in|for|at) )?(.+)$/i.exec(asked)?.[1] ?? ''
  if (place === asked) return undefined
  const places = placesOf(`in ${place}`)
  const named = places.some(({ zone }) => zone !== null) || /\bin \p{L}+$/u.test(asked)
  return named ? { type: 'clock', aspect: last.aspect, places } : undefined
}

function placesOf(text: string): Place[] {
  const after = /\b(?:in|at|for|between|en|à|a)\s+((?!the\s+(?:moment|time)\b).+)$/iu.exec(
    trimMarks(text, '?!.¿')
  )?.[1]
  if (after === undefined) return []
  return after
    .replace(/\b(?:right now|at the moment|now|today|please|currently|exactly|time|local)\b/gi, ' ')
    .split(/\s*(?:,|;|&|\/(?=\s)|\band\b|\bor\b|\bvs\.?\b)\s*/i)
    .map((place) => place.replace(/^(?:in|at|for|the city of)\s+/i, '').trim())
    .filter((place) => place !== '' && !NO_PLACE.test(place.toLowerCase()))
    .slice(0, 8)
    .map((place) => ({
      label: place,
      zone: zoneOfPlace(place) ?? zoneOfPlace(place.replace(/^the\s+/i, ''))
    }))
}
