import { createHmac, randomBytes } from 'node:crypto'
import {
  checkOf,
  backoffDelay,
  findFaults,
  formatFaults,
  WebhookChangeSchema,
  type ClaimedDelivery,
  type DeliveryOutcome,
  type Fault,
  type RunChange,
  type WebhookChange,
  type WebhookEvent
} from '@svc/contract'
import { RUN_ERR_BAD_WEBHOOK, RUN_ERR_WEBHOOK_URL } from '@svc/contract/errors'
import {
  readTarget,
  requirePublicTarget,
  safePost,
  UnsafeTargetError,
  type TargetRules
} from '../outbound/safe-post.ts'
import { faultOfEvents, toSessionEvent, withRunEvents } from './session-events.ts'

/** What a change of a run's record means to webhooks. */
export interface ReportedChange {
  readonly event: WebhookEvent
  /** As in `StoredDelivery`. */
  readonly detail: unknown
  /** Identifies the event within a store: the run, or its input, without dots, which separate what is signed. */
  readonly key: string
}

/** The event of a change; undefined if no webhook reports it. Stores call it for each change. */
export function reportedChange(runId: string, change: RunChange): ReportedChange | undefined {
  const { status, input, error } = change
  if (status === 'completed') return { event: 'run.completed', detail: null, key: runId }
  if (status === 'failed') {
    const { code, message, retryable } = error ?? {}
    return { event: 'run.failed', detail: { code, message, retryable }, key: runId }
  }
  if (status !== 'input-required' || input === undefined) return undefined
  const { inputId, kind, expiresAt } = input
  const detail = { inputId, kind, expiresAt: new Date(expiresAt).toISOString() }
  return { event: 'run.input-required', detail, key: inputId.replaceAll('.', '_') }
}

/** The id of the message that reports an event to a webhook; stores on SQL join the two by themselves. */
export function deliveryIdOf({ key }: Pick<ReportedChange, 'key'>, webhookId: string): string {
  return `${key}_${webhookId}`
}

/** The body of a message: the same for each attempt. */
function toMessageBody(delivery: ClaimedDelivery): string {
  const ofSession = toSessionEvent(delivery, delivery.events)
  if (ofSession !== undefined) return JSON.stringify(ofSession)
  const { event, at, runId, kind, name, sessionId, metadata, detail } = delivery
  const about =
    event === 'run.failed' ? { error: detail } : event === 'run.input-required' && { input: detail }
  return JSON.stringify({
    type: event,
    timestamp: new Date(at).toISOString(),
    data: { runId, kind, name, sessionId, ...(metadata !== null && { metadata }), ...about }
  })
}

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
function signMessage(
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

/** How messages are sent; times are milliseconds. */
export interface SendRules extends TargetRules {
  /** Secrets of the service. */
  readonly secrets: readonly string[]
  readonly attempts: number
  readonly backoff: number
  readonly timeout: number
}

/** What an attempt has shown. */
interface Attempt {
  readonly status: number | null
  readonly error: string | null
  /** Another attempt is futile. */
  readonly isFinal: boolean
}

const MAX_PAUSE = 6 * 3_600_000
const GONE = 410

/**
 * Sends a message once. Any 2xx delivers it; 410 says that the receiver is gone. Everything else, redirects included, is repeated.
 * @param now the clock of the stores
 * @throws the signal's reason when it aborts
 */
export async function sendMessage(
  delivery: ClaimedDelivery,
  rules: SendRules,
  signal: AbortSignal,
  now: () => number
): Promise<DeliveryOutcome> {
  const { status, error, isFinal } = await attempt(delivery, rules, signal)
  if (status !== null && status >= 200 && status < 300) return { state: 'delivered' }
  const last = { lastStatus: status, lastError: error }
  const { attempts } = delivery
  if (isFinal || attempts >= rules.attempts) return { state: 'dead', at: now(), ...last }
  // Half of a pause is no jitter, or all attempts could fall into one outage.
  const pause = backoffDelay(attempts, { baseDelay: rules.backoff, maxDelay: MAX_PAUSE, steadiness: 0.5 })
  return { state: 'pending', at: now() + Math.ceil(pause), ...last }
}

async function attempt(delivery: ClaimedDelivery, rules: SendRules, signal: AbortSignal): Promise<Attempt> {
  const timeout = AbortSignal.timeout(rules.timeout)
  const body = toMessageBody(delivery)
  const secrets = delivery.secrets.length > 0 ? delivery.secrets : rules.secrets
  if (secrets.length === 0) return { status: null, error: 'NO_SECRET', isFinal: false }
  // Receivers compare the time with their own clock.
  const signed = signMessage(delivery.deliveryId, body, secrets, Date.now())
  const headers = { 'content-type': 'application/json', ...signed }
  try {
    const both = AbortSignal.any([signal, timeout])
    const status = await safePost(new URL(delivery.url), { headers, body, signal: both }, rules)
    return { status, error: null, isFinal: status === GONE }
  } catch (err) {
    signal.throwIfAborted()
    const isFinal = err instanceof UnsafeTargetError
    const error = isFinal ? 'UNSAFE_ADDRESS' : timeout.aborted ? 'TIMEOUT' : codeOfFault(err)
    return { status: null, error, isFinal }
  }
}

function codeOfFault(err: unknown): string {
  const code = (err as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : 'FAILED'
}

const isChange = checkOf(WebhookChangeSchema)

/**
 * Checks what was given of a webhook, drops undefined fields, completes its events, and looks the host up.
 * @throws RUN_ERR_BAD_WEBHOOK, RUN_ERR_WEBHOOK_URL
 */
export async function requireWebhook<T extends WebhookChange>(given: T, rules: TargetRules): Promise<T> {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T
  if (!isChange(fields)) throw badWebhook(findFaults(WebhookChangeSchema, fields))
  const { url, events } = fields
  const fault = events && faultOfEvents(events)
  if (fault !== undefined) throw badWebhook([fault])
  if (url !== undefined) await requireTarget(url, rules)
  return events === undefined ? fields : { ...fields, events: withRunEvents(events) }
}

/** The error of a webhook with these faults. */
export function badWebhook(errors: Fault[]): Error {
  return Object.assign(new RUN_ERR_BAD_WEBHOOK(formatFaults(errors)), { errors })
}

/** The host of a URL, with its port: at most some messages are sent to one at a time. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? ''
}

async function requireTarget(text: string, rules: TargetRules): Promise<void> {
  const url = readTarget(text)
  if (typeof url === 'string') throw new RUN_ERR_WEBHOOK_URL(url)
  try {
    await requirePublicTarget(url, rules)
  } catch (err) {
    const isUnsafe = err instanceof UnsafeTargetError
    throw new RUN_ERR_WEBHOOK_URL(isUnsafe ? err.message : 'Its host cannot be found')
  }
}
