/** The words of a text, in lower case. */
export function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
}

/** How many of the words are in a text. */
export function scoreWords(text: string, words: ReadonlySet<string>): number {
  const own = wordsOf(text)
  let shared = 0
  for (const word of words) if (own.has(word)) shared++
  return shared
}
