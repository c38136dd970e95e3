// Longer runs of letters are encoded data or keys.
const MOST_CHARACTERS = 64

/** The words of a text, in lower case. */
export function wordsOf(text: string): Set<string> {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
  for (const word of words) if (word.length > MOST_CHARACTERS) words.delete(word)
  return words
}

/** The weight of a word that `having` of `items` items contain: the inverse document frequency of BM25. */
export function weighWord(items: number, having: number): number {
  return Math.log(1 + (items - having + 0.5) / (having + 0.5))
}
