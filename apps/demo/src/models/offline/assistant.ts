import { askDocuments } from './documents.ts'
import {
  outcomeOf,
  type Call,
  type Conversation,
  type Move,
  type Outcome,
  type Question
} from './rule-model.ts'

const HELP =
  'Hello! I answer questions about this service, calculate, and know the time. Try “How do I resume a stream?”, “What is 12 * (3+4)?” or “What time is it in Tokyo?”'
const MAX_QUESTIONS = 25
/** Characters of a question. */
const MAX_LENGTH = 1_000
const GREETING =
  /^(?:hi|hello|hey|good \w+|help|thanks|thank you|what can you do|who are you)\b[^?]{0,20}\??$/i
const RECALL = /\b(?:did|have) i (?:just )?(?:ask|say)/i
const CLOCK = /\b(?:what (?:time|day|date) is it|(?:current|local) time)\b|^time in\b/i
const POLITE = / (?:right now|now|today|please)\b/gi
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/(\d) ?(?:%|percent) of (?=[\d(])/gi, '$1 / 100 * '],
  [/(?<=\d) ?(?:times|multiplied by|[x×]) ?(?=[\d(])/gi, ' * '],
  [/(?<=\d) ?(?:divided by|÷) ?(?=[\d(])/gi, ' / '],
  [/ plus (?=[\d(])/gi, ' + '],
  [/ minus (?=[\d(])/gi, ' - '],
  [/(?<=\d),(?=\d{3}(?!\d))/g, '']
]
const EXPRESSION =
  /(?:\b(?:sqrt|abs|round|min|max|sin|cos|log|ln)\(|[-\d.(])[\d\s.,()+*/^%!]*(?:[a-z]+\(|[-\d\s.,()+*/^%!])*/gi
const OPERATION = /[\d)]\s*[+*^]\s*[-\d(.a-z]|[\d)]\s+[-/]\s+[-\d(.]|\d!|[a-z]\(/i
const zones = new Map(
  [...Intl.supportedValuesOf('timeZone'), 'UTC'].map(
    (zone) => [nameOf(zone.split('/').at(-1)!), zone] as const
  )
)
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Makes the calls that the questions of a message need, all at once, then answers them in their order. */
export function answerQuestions(conversation: Conversation, tools: ReadonlySet<string>): Move {
  const { outcomes } = conversation
  const texts = splitQuestions(conversation.message)
  if (texts.length === 0) return { answer: HELP }
  const questions = texts.slice(0, MAX_QUESTIONS).map((text) => understand(text, conversation.earlier))
  const needed = new Map<string, Call>()
  for (const call of questions.flatMap((question) => question.calls(outcomes)))
    if (tools.has(call.toolName) && outcomeOf(outcomes, call) === undefined)
      needed.set(JSON.stringify(call), call)
  if (needed.size > 0) return { calls: [...needed.values()] }

  const answers = questions.map((question) => question.answer(outcomes))
  if (answers.length === 1) return { answer: answers[0]! }
  const numbered = answers.map((answer, at) => `**${at + 1}.** ${texts[at]}\n\n${answer}`)
  const rest = texts.length - MAX_QUESTIONS
  if (rest > 0)
    numbered.push(`I answer ${MAX_QUESTIONS} questions a message; please send the other ${rest} again.`)
  return { answer: numbered.join('\n\n') }
}

// The sentences and lines of a message, without code blocks.
function splitQuestions(message: string): string[] {
  return message
    .replace(/(```|~~~)[\s\S]*?(?:\1|$)/g, '\n')
    .split(/\n\s*/)
    .flatMap((line) => [...sentences.segment(line)])
    .map(({ segment }) => segment.slice(0, MAX_LENGTH).trim())
    .filter((text) => /[\p{L}\p{N}]/u.test(text))
}

function understand(text: string, earlier: readonly string[]): Question {
  if (GREETING.test(text)) return say(HELP)
  if (RECALL.test(text)) return say(recall(text, earlier))
  const expression = expressionIn(text)
  if (expression !== undefined) return calculation(expression)
  return CLOCK.test(text) ? clock(text) : askDocuments(text)
}

function say(answer: string): Question {
  return { calls: () => [], answer: () => answer }
}

function recall(text: string, earlier: readonly string[]): string {
  const found = /\bfirst\b/i.test(text) ? earlier[0] : earlier.at(-1)
  return found === undefined
    ? 'This is the first thing that you ask me in this session.'
    : `You asked: “${found}”`
}

// The longest piece of arithmetic in a text, in signs or in words such as “times”.
function expressionIn(text: string): string | undefined {
  const written = SIGNS.reduce((out, [words, sign]) => out.replace(words, sign), text)
  return (written.match(EXPRESSION) ?? [])
    .map((piece) => piece.replace(/^[\s,.]+|[\s,.]+$/g, ''))
    .filter((piece) => OPERATION.test(piece))
    .toSorted((a, b) => b.length - a.length)[0]
}

function calculation(expression: string): Question {
  const call = { toolName: 'calculate', args: { expression } }
  return {
    calls: () => [call],
    answer(outcomes) {
      const { result = {}, error } = outcomeOf(outcomes, call) ?? { error: 'the tool is not available here' }
      const {
        value,
        exact,
        error: reason = error
      } = result as { value?: string; exact?: boolean; error?: string }
      if (reason !== undefined) return `I could not calculate ${expression}: ${reason}.`
      return `${expression} ${exact === true ? '=' : '≈'} ${value}`
    }
  }
}

// Cities that have a time zone of their own name.
function clock(text: string): Question {
  const places = / in (.+?)[?.!]*$/i.exec(text)?.[1]?.split(/ ?, ?| and /) ?? ['']
  const calls = places.map((place): Call | undefined => {
    const timeZone = zones.get(nameOf(place))
    if (place === '') return { toolName: 'current_time', args: {} }
    return timeZone === undefined ? undefined : { toolName: 'current_time', args: { timeZone } }
  })
  return {
    calls: () => calls.filter((call) => call !== undefined),
    answer: (outcomes) =>
      calls.map((call, at) => timeAt(places[at]!, call && outcomeOf(outcomes, call))).join('\n')
  }
}

function timeAt(place: string, outcome: Outcome | undefined): string {
  if (outcome === undefined)
    return `I know no time for “${place}”. Name a city that has a time zone, such as Tokyo.`
  const { time, weekday, date, timeZone, utcOffset } = (outcome.result ?? {}) as Record<string, string>
  return `It is ${time} on ${weekday}, ${date} in ${place.replace(POLITE, '') || timeZone} (${utcOffset}).`
}

function nameOf(place: string): string {
  const plain = place.replace(POLITE, '').normalize('NFD').replace(/\p{M}/gu, '')
  return plain.replaceAll('_', ' ').toLowerCase()
}
