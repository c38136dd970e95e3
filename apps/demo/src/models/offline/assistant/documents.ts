import { termsOf } from '../../../docs/terms.ts'
import { outcomeOf, type Call, type Outcome } from '../conversation.ts'
import { extractPassage } from './passage.ts'
import { bareOf, lastArgument, type Question, type Reader } from './question.ts'
import { looksLikeQuestion } from './split-questions.ts'

/** A result of the tool `search_docs`. */
interface Hit {
  section: string
  document: string
  heading: string
  coverage: number
}

/** Share of a query that a section must cover to count as an answer. */
const ENOUGH = 0.55
const MAX_READ = 2
const MAX_WORDS = 24
const MAX_QUERY = 300
const MAX_PASSAGE = 1600
const MORE =
  /^(?:tell me |say |explain |show me |give me )*(?:a (?:bit|little) )?(?:more|details|an? example|go on|continue|elaborate|why|how|what else|which one)(?: (?:about|on) (?:that|it|this))?(?: please)?$/
/** "How do I cancel it?", and "and for workflows?". */
const POINTS_BACK = /\b(?:it|that|them|those|these|one)(?: (?:again|later|then|back|in code|with curl))?$/
const ADDS = /^and (?:for|in|with|on|of)\b/i
const STATEMENT = /^(?:i|we|it|he|she|they|my|our|this|that|you|your)\b/i
const NO_QUESTION = 'I see no question in that. What would you like to know about it?'
const UNCLEAR =
  'I am not sure what you mean. Please ask it as a whole question, such as “Why did my run fail?”'
const NO_MORE = 'The documents say no more about that. Ask me about a part of it, or about something else.'
const ERROR_CODE = /\b[A-Z]{3,4}_ERR_[A-Z]/

/** Reads what to search the documents for: everything that is not about something else. */
export const readDocuments: Reader = (text, context) => {
  const asked = bareOf(text)
  const last = lastArgument(context, 'search_docs', 'query')
  if (MORE.test(asked)) {
    if (last === undefined) return { answer: () => UNCLEAR }
    const read = context.calls.filter(({ toolName }) => toolName === 'read_section')
    return documents(
      last,
      read.map(({ args }) => args['section']),
      NO_MORE
    )
  }
  const query = queryOf(text)
  if (query === '')
    return /\b(?:this|it|service)\b/.test(asked) ? documents('what is this service') : undefined
  const words = query.split(' ')
  const continues = (words.length <= 3 && POINTS_BACK.test(asked)) || (words.length <= 2 && ADDS.test(text))
  if (last !== undefined && continues)
    return documents([...new Set([...words, ...last.split(' ')])].slice(0, 8).join(' '))
  const isStatement = !looksLikeQuestion(text) && (words.length > 6 || STATEMENT.test(asked))
  return isStatement && !ERROR_CODE.test(text)
    ? { ...documents(query, [], NO_QUESTION), kind: 'statement' }
    : documents(query)
}

// The code of an error is not the code of a program.
function queryOf(text: string): string {
  const words = termsOf(text.replace(/\btell me\b/i, '').replaceAll(/\b(errors?) codes?\b/gi, '$1')).map(
    ({ word }) => word
  )
  return [...new Set(words)].slice(0, MAX_WORDS).join(' ').slice(0, MAX_QUERY)
}

function readCall(section: string): Call {
  return { toolName: 'read_section', args: { section } }
}

/** A question to the documents, without the sections in `known`; `otherwise` is the answer if they have none. */
function documents(query: string, known: readonly unknown[] = [], otherwise?: string): Question {
  const search: Call = { toolName: 'search_docs', args: { query, limit: 5 } }
  const hitsOf = (outcomes: readonly Outcome[]) => {
    const { results = [] } = (outcomeOf(outcomes, search)?.result ?? {}) as { results?: Hit[] }
    // To say more, a section may fit less.
    const enough = known.length > 0 ? Math.min(ENOUGH, (results[0]?.coverage ?? 0) * 0.7) : ENOUGH
    const fitting = results.filter(({ section, coverage }) => coverage >= enough && !known.includes(section))
    return { results, fitting: fitting.slice(0, MAX_READ) }
  }
  return {
    calls: (outcomes) => [search, ...hitsOf(outcomes).fitting.map(({ section }) => readCall(section))],
    answer(outcomes) {
      const { result, error } = outcomeOf(outcomes, search) ?? {}
      if (error !== undefined) return `I could not search the documents: ${error}.`
      if (result === undefined) return 'I cannot look that up: the tool `search_docs` is not available here.'
      const { results, fitting } = hitsOf(outcomes)
      const passages = fitting.flatMap(({ section, document, heading }) => {
        const { text } = (outcomeOf(outcomes, readCall(section))?.result ?? {}) as { text?: string }
        const source = `${document}, “${heading}”`
        return text === undefined ? [] : [{ source, ...extractPassage(heading, text, query) }]
      })
      if (passages.length > 0) return quote(passages)
      return otherwise ?? notFound(results, (result as { unknown?: string[] }).unknown ?? [])
    }
  }
}

// The second section must fit clearly better to displace the first, which the search prefers.
function quote([first, second]: { source: string; text: string; score: number }[]): string {
  const { text, source } = second !== undefined && second.score > first!.score + 0.2 ? second : first!
  if (text.length <= MAX_PASSAGE) return `${text}\n\nSource: ${source}.`
  const cut = text.slice(0, Math.max(text.lastIndexOf('\n', MAX_PASSAGE), MAX_PASSAGE / 2))
  const isCode = (cut.match(/^```/gm)?.length ?? 0) % 2 === 1
  return `${cut}${isCode ? '\n```' : ''}\n…\n\nSource: ${source}.`
}

function notFound(results: readonly Hit[], unknown: readonly string[]): string {
  const words = unknown.slice(0, 4).map((word) => `“${word}”`)
  const missing = words.length === 0 ? '' : ` No document mentions ${words.join(' or ')}.`
  const near = results.find(({ coverage }) => coverage >= 0.3)
  const hint = near === undefined ? '' : ` The nearest that I have is ${near.document}, “${near.heading}”.`
  return `The documents of this service do not answer that, so I do not know.${missing}${hint}`
}
