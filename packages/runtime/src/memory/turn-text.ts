import type { MemoryTurn } from './memory.ts'

const MOST_CHARACTERS = 2_000

/** A turn as one text, each side at most 2,000 characters. */
export function toTurnText({ input, text }: MemoryTurn): string {
  return `User: ${shorten(input)}\nAssistant: ${shorten(text)}`
}

/** The start of a text, on one line or many as it was. */
export function shorten(text: string, characters: number = MOST_CHARACTERS): string {
  if (text.length <= characters) return text
  return `${text.slice(0, characters - 1).toWellFormed()}…`
}

/** As many of the texts, in their order, as fit into so many characters. */
export function takeWithin(texts: readonly string[], characters: number): string[] {
  const taken: string[] = []
  let left = characters
  for (const text of texts) {
    left -= text.length
    if (left < 0) break
    taken.push(text)
  }
  return taken
}
