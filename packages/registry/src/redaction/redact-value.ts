import { REDACTED, toLoggable, type Redact, type RunLog } from '@svc/contract'
import { RedactedText, secretsAmong, withoutSecrets } from './redacted-text.ts'

/** Creates a `Redact` for these keys; undefined if none of them is worth hiding. */
export function createRedact(keys: readonly string[]): Redact | undefined {
  const secrets = secretsAmong(keys)
  if (secrets.length === 0) return undefined
  const inJson = secrets.map((secret) => JSON.stringify(secret.text).slice(1, -1))

  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return withoutSecrets(value, secrets)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(clean)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [withoutSecrets(name, secrets), clean(each)])
    )
  }
  const redact = <T>(value: T): T => {
    const json = toJson(value)
    if (json === undefined || !inJson.some((secret) => json.includes(secret))) return value
    return clean(JSON.parse(json)) as T
  }
  return Object.assign(redact, { text: () => new RedactedText(secrets) })
}

// Values without JSON never leave the run.
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** The depth to which objects and lists are redacted; deeper ones are replaced. */
const MAX_DEPTH = 6

/** Wraps a log so that these keys never appear in it, whatever runnables, models or their errors contain. */
export function redactLog(log: RunLog, keys: readonly string[]): RunLog {
  const secrets = secretsAmong(keys)
  if (secrets.length === 0) return log

  const cleanText = (text: string) => withoutSecrets(text, secrets)
  const clean = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return cleanText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth === 0) return REDACTED
    if (value instanceof Error) return clean(toLoggable(value), depth - 1)
    if (Array.isArray(value)) return value.map((each) => clean(each, depth - 1))
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return clean(toJSON.call(value), depth - 1)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [cleanText(name), clean(each, depth - 1)])
    )
  }
  const write = (level: keyof RunLog) => (details: object, message?: string) =>
    log[level](
      clean(details, MAX_DEPTH) as object,
      typeof message === 'string' ? cleanText(message) : message
    )
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
