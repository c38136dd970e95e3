import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether the client prefers an answer at once, to look at the run later.
 * @see https://www.rfc-editor.org/rfc/rfc7240#section-4.1
 */
export function prefersAsync({ prefer }: IncomingHttpHeaders): boolean {
  if (prefer === undefined) return false
  return String(prefer)
    .split(',')
    .some((each) => each.split(';', 1)[0]!.trim().toLowerCase() === 'respond-async')
}
