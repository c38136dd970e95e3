import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new secret, as Standard Webhooks write it. */
export function newSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

/**
 * The headers of a message by the Standard Webhooks specification 1.0: its id, the time of this attempt, and a signature (HMAC-SHA256) with
 * each secret.
 * @param now milliseconds since the epoch
 */
export function signMessage(
  messageId: string,
  body: string,
  secrets: readonly string[],
  now: number
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' ')
  }
}
