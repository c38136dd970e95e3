import type { RunChange, StoredDelivery, WebhookEvent } from '@svc/contract'

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
export function toMessageBody(delivery: StoredDelivery): string {
  const { event, at, runId, kind, name, sessionId, metadata, detail } = delivery
  const about =
    event === 'run.failed' ? { error: detail } : event === 'run.input-required' && { input: detail }
  return JSON.stringify({
    type: event,
    timestamp: new Date(at).toISOString(),
    data: { runId, kind, name, sessionId, ...(metadata !== null && { metadata }), ...about }
  })
}
