import { termsOf } from '../../../text/terms.ts'
import { trimMarks } from '../../../text/trim-marks.ts'
import { detectLanguage } from '../detect-language.ts'
import { looksLikeQuestion } from '../split-questions.ts'
import type { Before, Intent } from './intent.ts'

const MORE =
  /^(?:(?:please |can you |could you )*(?:tell me|say|explain|show me|give me|i want|i need) (?:(?:a (?:bit|little) )?more|further|the rest|more details?|details|an? example)(?: (?:about|on|of|detail|details|info|information|in detail))*(?: (?:that|it|this|them|those|please|the (?:first|second|last)(?: one)?))*|more(?: (?:details?|info|please|about (?:that|it|this)))*|go on|continue|keep going|and then|what else|anything else|elaborate(?: on (?:that|it|this))?|explain(?: (?:that|it|this))?(?: (?:further|more|again|better|in more detail|in detail))*|how(?: (?:exactly|does (?:that|it|this) work))|for example|such as|example|can you elaborate)$/
const UNCLEAR =
  /^(?:why(?: (?:is that|so|not))?|how(?: (?:so|come))?|what|huh|which(?: one)?|when|where|who|what do you mean(?: by (?:that|this|it))?|i (?:do not|don't) (?:understand|get it|get that))$/
const ASIDE = /^(?:i|we|it|he|she|they|my|our|this|that|you|your)\b/i
// As an object, at the end: "how do I cancel it?". In "is it fast?" it is the service itself.
const POINTS_BACK =
  /\b(?:it|that|them|those|these|one|the same)(?: (?:again|later|then|please|back|off|in code|with curl|by hand))?$/
const THE_SERVICE = /\b(?:this|it|the (?:service|project|repo|product))\b/
const ERROR_CODE = /\b(errors?) codes?\b/gi
const MAX_QUERY = 300
const MAX_WORDS = 24

/** Reads what the documents are to be searched for. Every piece that no other reader knows ends here. */
export function readDocuments(text: string, before: Before): Intent {
  const last = lastDocuments(before)
  const asked = trimMarks(text.trim().toLowerCase().replaceAll('’', "'"), '?!.,')
  const bare = asked.replace(/^(?:(?:and|so|ok|okay|but|now|yes|please)[,\s]+)+/, '')
  if (MORE.test(bare)) {
    if (last === undefined) return { type: 'empty' }
    return { type: 'documents', query: last, more: true, known: [...before.readSections] }
  }
  if (UNCLEAR.test(bare)) {
    const said = before.asked.at(-1)?.intent
    // "I want to abort a run. How?"
    if (said?.type !== 'statement') return { type: 'unclear' }
    return { type: 'documents', query: said.query, more: false, known: [] }
  }
  const language = detectLanguage(text)
  if (language !== undefined) return { type: 'foreign', language, query: queryOf(text) }

  const query = queryOf(text)
  if (query === '') {
    if (!looksLikeQuestion(text) || !THE_SERVICE.test(asked)) return { type: 'empty' }
    return { type: 'documents', query: 'what is this service', more: false, known: [] }
  }
  const words = termsOf(query).length
  if (last !== undefined && goesOn(asked, words))
    return {
      type: 'documents',
      query: [...new Set(`${query} ${last}`.split(' '))].slice(0, 8).join(' '),
      more: false,
      known: []
    }
  if (!looksLikeQuestion(text) && (words > 6 || ASIDE.test(asked))) return { type: 'statement', query }
  return { type: 'documents', query, more: false, known: [] }
}

// "How do I cancel it?" and "and for workflows?" need what they follow.
function goesOn(asked: string, words: number): boolean {
  if (words <= 3 && POINTS_BACK.test(asked)) return true
  return words <= 2 && /^and (?:for|in|with|on|of)\b/.test(asked)
}

// The words that carry meaning, as they were written, at most so many; a long text gives its first and most frequent.
function queryOf(text: string): string {
  // The code of an error is not the code of a program.
  const plain = text.replaceAll(ERROR_CODE, '$1')
  const words = [...new Set(termsOf(plain).map(({ word }) => word))]
  const kept = words.length <= MAX_WORDS ? words : words.filter((word) => word.length > 3).slice(0, MAX_WORDS)
  return kept.join(' ').slice(0, MAX_QUERY).trim()
}

function lastDocuments({ asked }: Before): string | undefined {
  const intents = asked.map(({ intent }) => intent)
  return intents.findLast((intent) => intent.type === 'documents' || intent.type === 'statement')?.query
}
