/** What stands for a secret in everything that leaves the browser. */
export const HIDDEN = '[secret]'

// Shorter beginnings would match ordinary words.
const MIN_BEGINNING = 4
/** Ends a text that was cut. */
const CUT = '…'

/**
 * Hides these texts wherever they occur in another, in upper or lower case, and where a cut has left their beginning only; undefined
 * for none. Takes time in proportion to the text.
 */
export function createHiding(forms: readonly string[]): ((text: string) => string) | undefined {
  if (forms.length === 0) return undefined
  const sorted = [...new Set(forms)].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(
    sorted.map((form) => form.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)).join('|'),
    'gi'
  )
  const lower = sorted.map((form) => form.toLowerCase())
  return (text) => hideBeginnings(text.replaceAll(pattern, HIDDEN), lower)
}

// What cuts a text does not know where a secret stands in it.
function hideBeginnings(text: string, forms: readonly string[]): string {
  if (!text.includes(CUT)) return text
  const pieces = text.split(CUT)
  const last = pieces.length - 1
  return pieces
    .map((piece, index) => {
      const length = index === last ? 0 : beginningAt(piece, forms)
      return length === 0 ? piece : piece.slice(0, -length) + HIDDEN
    })
    .join(CUT)
}

/** The length of the longest beginning of a form with which a text ends; 0 for none. */
function beginningAt(text: string, forms: readonly string[]): number {
  for (const form of forms) {
    const end = text.slice(-form.length).toLowerCase()
    for (let length = Math.min(form.length, end.length); length >= MIN_BEGINNING; length--)
      if (end.endsWith(form.slice(0, length))) return length
  }
  return 0
}
