import type { MemoryTurn } from './memory.ts'

const MAX_CHARACTERS = 2_000

/** Formats a turn as one text, with at most 2,000 characters per side. */
export function toTurnText({ input, text }: MemoryTurn): string {
  return `User: ${shorten(input)}\nAssistant: ${shorten(text)}`
}

/** Cuts a text to `characters`, with an ellipsis if it was longer. */
export function shorten(text: string, characters: number = MAX_CHARACTERS): string {
  if (text.length <= characters) return text
  return `${text.slice(0, characters - 1).toWellFormed()}…`
}

/** The first texts that together fit into `characters`. */
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
