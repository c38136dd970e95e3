// Tags, selectors, zero-width characters and marks of direction: people see none of them, but models read them. The two
// joiners stay, and what makes an emoji colored.
const UNSEEN = /(?!\u200C|\u200D|\uFE0F)[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/** A text without invisible characters, with single spaces, cut to `maxChars`. */
export function cleanText(text: string, maxChars: number = Number.POSITIVE_INFINITY): string {
  const clean = text.replace(UNSEEN, '').replace(/\s+/g, ' ').trim()
  return cutText(clean, maxChars)
}

/** Cuts a text to a number of characters, and says how many are missing; never in the middle of a surrogate pair. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const note = `… ${text.length - maxChars} more characters`
  const end = Math.max(0, maxChars - note.length)
  // The high half of a pair at the end would stand alone.
  const isHalf = end > 0 && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return text.slice(0, isHalf ? end - 1 : end) + note
}

// Text that could be taken for what we wrote ourselves stands in quotes, as names always do.
const PLAIN = /^[\p{L}\p{N}$€£¥(][^"\\[\]{}\p{Cc}]*$/u

/** Quotes a text of the page, unless it cannot be mistaken for a part of the outline. */
export function quoteIfNeeded(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text)
}
