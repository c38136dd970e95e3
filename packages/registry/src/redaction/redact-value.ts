import type { Redact } from '@svc/contract'
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
