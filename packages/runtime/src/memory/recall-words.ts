import { wordsOf } from '@svc/contract/stores'

// Words without a topic.
const STOP_WORDS = new Set(
  (
    'a about again all also am an and any are as at be been but by can could did do does for from had has have he her ' +
    'him his how i if in into is it its just me my no not now of on or our please she should so some tell than that ' +
    'the their them then there these they this those to us was we were what when where which who whom whose why will ' +
    'with would you your s t re ve ll d m user assistant remember know said say'
  ).split(' ')
)
// Very common words: used for ranking, and searched for only if a text has no others.
const WEAK_WORDS = new Set(
  (
    'best call called change day days find get give go going good great have help hour keep know last like long look ' +
    'make man many month much name names need needs new next note number old one people person place put right see ' +
    'set start starts still take thing things think this time times today tomorrow two use want way week weeks went ' +
    'word work works year years yesterday'
  ).split(' ')
)
const MAX_WORDS = 10

/** The words of a query. */
export interface QueryWords {
  /** Words to search for, by stem, each with the forms that a store may contain. */
  readonly searched: ReadonlyMap<string, readonly string[]>
  /** Stems of all words that count for ranking. */
  readonly ranked: ReadonlySet<string>
}

/** Picks the words that a text is about; searches for at most 10. */
export function queryWords(text: string): QueryWords {
  const strong = new Map<string, readonly string[]>()
  const weak = new Map<string, readonly string[]>()
  for (const word of wordsOf(text)) {
    if (STOP_WORDS.has(word)) continue
    const words = WEAK_WORDS.has(word) ? weak : strong
    if (words.size < MAX_WORDS) words.set(stemOf(word), variantsOf(word))
  }
  return { searched: strong.size > 0 ? strong : weak, ranked: new Set([...strong.keys(), ...weak.keys()]) }
}

/** The stems of every word of a text. */
export function stemsOf(text: string): Set<string> {
  return new Set([...wordsOf(text)].map(stemOf))
}

/** Strips the most common English endings; words of other languages mostly stay unchanged. */
export function stemOf(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.endsWith('ss')) return word
  const bare = word.replace(/(?:ing|ed|es|s)$/, '')
  if (bare.length < 3) return word
  return bare.replace(/([^aeiouls])\1$/, '$1').replace(/e$/, '')
}

// A store finds whole words only: search for the word, and its singular or plural.
function variantsOf(word: string): string[] {
  const stem = stemOf(word)
  if (stem !== word && !word.startsWith(`${stem}e`)) return [word, stem]
  if (word.endsWith('s') && word.length > 3) return [word, word.slice(0, -1)]
  return (word.length < 4 && word.endsWith('s')) || /\p{N}/u.test(word) ? [word] : [word, `${word}s`]
}
