/** Characters of a file name that are kept. */
const MAX_LENGTH = 255

/**
 * What a client calls its file, as a label: the base name without control and formatting characters, at most 255 UTF-16
 * units. `undefined` where nothing is left. Never to be used as a path.
 */
export function toFileName(given: string): string | undefined {
  const base = given.split(/[/\\]/).at(-1) ?? ''
  const clean = base
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') return undefined
  const name = clean.slice(0, MAX_LENGTH)
  // Not half of a surrogate pair at the end.
  return name.isWellFormed() ? name : name.slice(0, -1)
}
