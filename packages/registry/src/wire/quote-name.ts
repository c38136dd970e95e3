/** Characters of a stranger's name that are repeated to him. */
const MAX_LENGTH = 64
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** A name as a stranger sent it, for a message: in quotes, of at most 64 characters, with `?` for what cannot be printed. */
export function quoteName(name: unknown): string {
  return `"${String(name).slice(0, MAX_LENGTH).replace(UNPRINTABLE, '?')}"`
}
