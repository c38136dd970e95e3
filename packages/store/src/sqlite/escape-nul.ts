// SUBSTITUTE: no JSON has it as it is, so that what is stored as JSON is never changed.
const ESCAPE = '\u001a'
const NUL = '\u0000'

/**
 * A text as it is stored. Many versions of Node read a text of SQLite only up to its first null character, and other databases
 * take no such text.
 */
export function escapeNul(text: string): string {
  return text.includes(NUL) || text.includes(ESCAPE)
    ? text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NUL, `${ESCAPE}0`)
    : text
}

/** A text, from how it is stored. */
export function unescapeNul(stored: string): string {
  return stored.includes(ESCAPE)
    ? stored.replaceAll(`${ESCAPE}0`, NUL).replaceAll(`${ESCAPE}1`, ESCAPE)
    : stored
}
