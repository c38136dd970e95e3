const START =
  "(?:what|what's|whats|who|whom|whose|where|when|why|how|which|can|could|would|should|will|does|do|did|is|are|am|was|were|has|have|may|tell|show|explain|describe|list|give|name|calculate|compute|find|define|summari[sz]e|quote|repeat|compare)"
const STARTS = new RegExp(
  `^(?:(?:and|also|then|so|but|now|please|hi|hello|hey|ok|okay)[,\\s]+)*${START}\\b`,
  'i'
)
const JOINT = new RegExp(
  `(?:[,;]\\s*(?:and|also|then|plus)?\\s*(?:also\\s+|then\\s+|please\\s+)?|\\s+(?:and|also|then|plus)\\s+(?:also\\s+|then\\s+|please\\s+)?)(?=${START}\\b)`,
  'gi'
)
const MARKER = /^\s*(?:\(?\d{1,3}[.):]|[-*•‣–]|q\d{0,3}[.:)])\s+/i
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Longest message that is read to its end; what is beyond is left out. */
export const MAX_MESSAGE = 20_000
/** Longest piece of one; the patterns of its readers never see more. */
const MAX_PIECE = 2_000

/** Whether a text begins as a question or a request does, or ends as one. */
export function looksLikeQuestion(text: string): boolean {
  return /[?？؟]\s*$/.test(text) || STARTS.test(text)
}

/** Splits a message into its questions and statements, in their order. Blocks of code are left out. */
export function splitQuestions(message: string): string[] {
  const prose = message
    .slice(0, MAX_MESSAGE)
    .replace(/(```|~~~)[\s\S]*?(?:\1|$)/g, '\n')
    .replace(/[[\p{Cc}\p{Cf}]--[\n\t\u200d]]/gv, ' ')
    .replaceAll(/[？؟]/g, '?')
    // From here on whitespace is one space, so that no pattern has to find its way through a long run of it.
    .replace(/[^\S\n]+/g, ' ')
  return joinWrapped(prose.split('\n'))
    .filter((line) => line.trim() !== '')
    .flatMap((line) => line.split(/\s+(?=\(?\d{1,2}[.)]\s+\p{Lu})/u))
    .map((line) => line.replace(MARKER, ''))
    .flatMap((line) => [...sentences.segment(line)].map(({ segment }) => segment))
    .flatMap(splitJoint)
    .map((piece) => shorten(piece).trim())
    .filter((piece) => piece !== '')
}

// Some characters become many in the form in which words are compared.
function shorten(piece: string): string {
  const kept = piece.slice(0, MAX_PIECE)
  const plain = kept.normalize('NFKC')
  return plain.length <= MAX_PIECE ? kept : plain.slice(0, MAX_PIECE)
}

// A line that goes on in the next one is one line.
function joinWrapped(lines: readonly string[]): string[] {
  const joined: string[] = []
  for (const [index, line] of lines.entries()) {
    const last = joined.at(-1)
    const broken = last !== undefined && last.length > 50 && !/[.?!:;] ?$/.test(lines[index - 1]!)
    if (broken && /^\s*\p{Ll}/u.test(line)) joined[joined.length - 1] = `${last} ${line.trim()}`
    else joined.push(line)
  }
  return joined
}

// "What is a run and how do I cancel it" is two questions; "how do I start and stop" is one.
function splitJoint(sentence: string): string[] {
  if (!looksLikeQuestion(sentence) || sentence.length > MAX_PIECE) return [sentence]
  const pieces = sentence.split(JOINT).map((piece) => piece.trim())
  return pieces.reduce<string[]>((kept, piece) => {
    const last = kept.at(-1)
    // A first piece that asks nothing ("if it fails, what …") belongs to the question after it.
    if (last !== undefined && !looksLikeQuestion(last) && !/\d\s*[-+*/^x×÷]\s*\d/.test(last))
      kept[kept.length - 1] = `${last}, ${piece}`
    else kept.push(piece)
    return kept
  }, [])
}
