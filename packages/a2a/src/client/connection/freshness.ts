/** How long an answer may be used, and how to ask then whether it has changed. RFC 9111, sections 4.2 and 4.3. */
export interface Freshness {
  /** Milliseconds; infinite if the service does not say. */
  readonly lifetime: number
  /** Milliseconds since the epoch. */
  readonly until: number
  /** The conditional headers of the next request. */
  readonly validators: Readonly<Record<string, string>>
}

/** Reads the headers of an answer; what they do not say is as it was `before`. */
export function readFreshness(headers: Headers, before?: Freshness): Freshness {
  const lifetime = lifetimeOf(headers) ?? before?.lifetime ?? Number.POSITIVE_INFINITY
  const etag = headers.get('etag')
  const modified = headers.get('last-modified')
  const validators = {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(modified !== null && { 'if-modified-since': modified })
  }
  return {
    lifetime,
    until: Date.now() + lifetime,
    validators: etag === null && modified === null ? (before?.validators ?? {}) : validators
  }
}

/** The same, for some time longer. @param time milliseconds */
export function extend(freshness: Freshness, time: number): Freshness {
  return { ...freshness, until: Date.now() + time }
}

function lifetimeOf(headers: Headers): number | undefined {
  const directives = (headers.get('cache-control') ?? '').toLowerCase().split(',')
  const find = (name: RegExp) =>
    directives.map((each) => name.exec(each.trim())).find((match) => match !== null)
  if (find(/^no-(?:store|cache)(?:=|$)/) !== undefined) return 0
  const age = Number(headers.get('age') ?? 0) || 0
  const seconds = find(/^max-age="?(\d{1,10})"?$/)?.[1]
  if (seconds !== undefined) return Math.max(0, Number(seconds) - age) * 1_000
  const expires = headers.get('expires')
  if (expires === null) return undefined
  // A date that is invalid, such as 0, is in the past.
  const left = Date.parse(expires) - (Date.parse(headers.get('date') ?? '') || Date.now())
  return left > 0 ? left : 0
}
