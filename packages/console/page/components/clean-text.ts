// Characters that terminals obey, and those that change the direction of the text around them.
// oxlint-disable-next-line no-control-regex -- control characters are what it finds
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g

/** Shows control characters instead of obeying them; line breaks and tabs stay. */
export function cleanText(text: string): string {
  return text.replaceAll(HIDDEN, (character) => {
    const code = character.charCodeAt(0)
    if (character === '\r') return ''
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    if (code === 0x7f) return '␡'
    return `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}

/** The beginning of a text as one line, such as a title. */
export function cleanLine(text: string, length = 200): string {
  const line = cleanText(text.slice(0, length * 2))
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length > length ? `${line.slice(0, length)}…` : line
}
