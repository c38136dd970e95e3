const START =
  "(?:what|what's|whats|who|whom|whose|where|when|why|how|which|can|could|would|should|will|does|do|did|is|are|am|was|were|has|have|may|tell|show|explain|describe|list|give|name|calculate|compute|find|define|summari[sz]e|quote|repeat|compare)"
const QUESTION = new RegExp(
  `[?]\\s*$|^(?:(?:and|also|then|so|but|now|please|hi|hello|hey|ok|okay)[,\\s]+)*${START}\\b`,
  'i'
)
const JOINT = new RegExp(
  `(?:[,;]\\s*(?:and|also|then|plus)?|\\s+(?:and|also|then|plus))\\s+(?:also |then |please )?(?=${START}\\b)`,
  'i'
)
const MARKER = /^\s*(?:\(?\d{1,3}[.):]|[-*•])\s+/
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Characters of a message that are read; the rest is ignored. */
export const MAX_MESSAGE = 20_000
const MAX_LINES = 500
/** Characters of one question. It bounds the work of every pattern that reads one. */
const MAX_QUESTION = 1_000

/** True for a text that begins or ends like a question or a request. */
export function looksLikeQuestion(text: string): boolean {
  return QUESTION.test(text)
}

/** Splits a message into its questions and statements, in order. Code blocks are left out. */
export function splitQuestions(message: string): string[] {
  const prose = message
    .slice(0, MAX_MESSAGE)
    .replace(/(```|~~~)[\s\S]*?(?:\1|$)/g, '\n')
    .replaceAll('？', '?')
    .replace(/[[\p{Cc}\p{Cf}]--[\n\t\u200d]]/gv, ' ')
    .replace(/[^\S\n]+/g, ' ')
  return prose
    .replace(/(?<=[^\n]{50}[^\s.?!:;]) ?\n(?=\p{Ll})/gu, ' ')
    .split(/\n[\n ]*|\s(?=\(?\d{1,2}[.)] \p{Lu})/u, MAX_LINES)
    .flatMap((line) => [...sentences.segment(line.replace(MARKER, ''))])
    .flatMap(({ segment }) => splitJoint(segment.slice(0, MAX_QUESTION).trim()))
    .filter((text) => text !== '')
}

// "What is a run and how do I cancel it" has two questions; "if it fails, what can I do" has one.
function splitJoint(sentence: string): string[] {
  if (!looksLikeQuestion(sentence)) return [sentence]
  return sentence.split(JOINT).reduce<string[]>((pieces, piece) => {
    const last = pieces.at(-1)
    const isWhole = last === undefined || looksLikeQuestion(last) || /\d\s*[-+*/^x×÷]\s*\d/.test(last)
    return isWhole ? [...pieces, piece.trim()] : [...pieces.slice(0, -1), `${last}, ${piece.trim()}`]
  }, [])
}
