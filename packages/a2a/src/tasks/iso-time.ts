// Under load many tasks change within one millisecond.
let last = { at: Number.NaN, text: '' }

/** A time in ISO 8601, in UTC, with milliseconds. @param at milliseconds since 1970 */
export function isoTime(at: number): string {
  if (at !== last.at) last = { at, text: new Date(at).toISOString() }
  return last.text
}
