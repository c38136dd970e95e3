import { wordsOf } from '@svc/registry'

// Words that say nothing of what a text is about.
const STOP_WORDS = new Set(
  (
    'a about again all also am an and any are as at be been but by can could did do does for from had has have he her ' +
    'him his how i if in into is it its just me my no not now of on or our please she should so some tell than that ' +
    'the their them then there these they this those to us was we were what when where which who whom whose why will ' +
    'with would you your s t re ve ll d m user assistant remember know said say'
  ).split(' ')
)
const MOST_WORDS = 10
const MOST_VARIANTS = 3

/** The words that a text is about, each by its stem, with the forms in which a store may have it; the first 10. */
export function queryWords(text: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const word of wordsOf(text)) {
    if (STOP_WORDS.has(word)) continue
    const stem = stemOf(word)
    if (!found.has(stem)) found.set(stem, variantsOf(word))
    if (found.size === MOST_WORDS) break
  }
  return found
}

/** The stems of every word of a text. */
export function stemsOf(text: string): Set<string> {
  return new Set([...wordsOf(text)].map(stemOf))
}

/** A word without the commonest English endings; a word of another language stays mostly as it is. */
export function stemOf(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const bare = word.replace(/(?:ing|ed|es|s)$/, '')
  if (bare.length < 3 || bare.endsWith('s')) return word.length > 4 && word.endsWith('sses') ? bare : word
  return bare.replace(/([^aeiouls])\1$/, '$1').replace(/e$/, '')
}

// A store finds whole words only.
function variantsOf(word: string): string[] {
  const stem = stemOf(word)
  const forms = stem.endsWith('y') ? [stem, `${stem.slice(0, -1)}ies`] : [stem, `${stem}s`, `${stem}e`]
  return [...new Set([word, ...forms])].slice(0, MOST_VARIANTS)
}
