/**
 * The wait a response requests, in milliseconds, by `retry-after-ms` or `retry-after` (seconds or an HTTP date, RFC 9110
 * section 10.2.3); undefined without either.
 */
export function readRetryAfter(headers: unknown, now = Date.now()): number | undefined {
  const milliseconds = Number.parseFloat(headerOf(headers, 'retry-after-ms') ?? '')
  if (milliseconds >= 0) return milliseconds
  const value = headerOf(headers, 'retry-after')?.trim()
  if (value === undefined || value === '') return undefined
  if (/^\d+(?:\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function headerOf(headers: unknown, name: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name && typeof value === 'string') return value
  }
  return undefined
}
