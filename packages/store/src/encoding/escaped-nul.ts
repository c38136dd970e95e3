// SUBSTITUTE: JSON escapes it, so that stored JSON never changes.
const ESCAPE = '\u001a'
const NUL = '\u0000'

/**
 * Escapes null characters: many versions of Node read a text of SQLite only up to the first one, and Postgres refuses them.
 */
export function escapeNul(text: string): string {
  return text.includes(NUL) || text.includes(ESCAPE)
    ? text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NUL, `${ESCAPE}0`)
    : text
}

/** Undoes `escapeNul`. */
export function unescapeNul(stored: string): string {
  return stored.includes(ESCAPE)
    ? stored.replaceAll(`${ESCAPE}0`, NUL).replaceAll(`${ESCAPE}1`, ESCAPE)
    : stored
}

/** Escapes the texts among parameters of a statement, and in arrays of them. */
export function escapeValues(values: readonly unknown[]): unknown[] {
  return values.map((value) => {
    if (typeof value === 'string') return escapeNul(value)
    return Array.isArray(value) ? escapeValues(value) : value
  })
}
