/** What stands where a secret was. */
export const REDACTED = '[redacted]'

/** A shorter key is no secret, and its letters would be in every line. */
const MIN_LENGTH = 8

/** Those of some keys that are worth hiding. */
export function secretsAmong(keys: readonly string[]): string[] {
  return keys.filter((key) => key.length >= MIN_LENGTH)
}

/** A text without the secrets in it. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text)
}
