import type { PartOf, ToolError, Usage } from '@svc/contract'
import type { ModelUsage, SessionError, SessionEventOf, StopReason } from '../wire/events.ts'

/** How a run ended. */
export type Stop = Pick<SessionEventOf<'session.status_idle'>, 'stop_reason' | 'stop_details'>

/** That a session waits for what these events ask for, or has ended its turn. */
export function toStop(stop_reason: StopReason): Stop {
  const isRefusal = stop_reason.type === 'refusal'
  return {
    stop_reason,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: null } : null
  }
}

/** How a run ended that did not fail. */
export function stopOfFinish({ finishReason }: PartOf<'finish'>): Stop {
  return toStop({ type: finishReason === 'content-filter' ? 'refusal' : 'end_turn' })
}

/** How a run ended that failed. */
export function stopOfError({ code }: { readonly code: string }): Stop {
  if (code === 'RUN_ERR_BUDGET') return toStop({ type: 'budget_reached' })
  const isRefused = code === 'RUN_ERR_REJECTED' || code === 'RUN_ERR_BLOCKED'
  return toStop({ type: isRefused ? 'refusal' : 'retries_exhausted' })
}

const TYPES: Readonly<Record<string, SessionError['type']>> = {
  RUN_ERR_BUDGET: 'billing_error',
  RUN_ERR_MODEL_RATE_LIMITED: 'model_rate_limited_error',
  RUN_ERR_OVERLOADED: 'model_overloaded_error'
}

/** The error of a run. The protocol has no field for its code. */
export function toSessionError(error: ToolError): SessionError {
  const { code } = error
  const isOfModel = code.startsWith('RUN_ERR_MODEL_') || code === 'RUN_ERR_CONTEXT_OVERFLOW'
  const failed = isOfModel ? 'model_request_failed_error' : 'unknown_error'
  return { type: TYPES[code] ?? failed, message: textOfError(error), retry_status: { type: 'exhausted' } }
}

/** The text of an error. */
export function textOfError({ code, message }: ToolError): string {
  return `${code}: ${message}`
}

/** The tokens of a model request, or of several. The protocol counts cached tokens apart from the others. */
export function toModelUsage(usage: Usage | undefined): ModelUsage {
  const { promptTokens = 0, completionTokens = 0, cachedPromptTokens = 0, cacheWriteTokens = 0 } = usage ?? {}
  return {
    input_tokens: toCount(promptTokens - cachedPromptTokens - cacheWriteTokens),
    output_tokens: toCount(completionTokens),
    cache_creation_input_tokens: toCount(cacheWriteTokens),
    cache_read_input_tokens: toCount(cachedPromptTokens)
  }
}

function toCount(tokens: number): number {
  return Math.max(Math.round(tokens), 0)
}

/** A value as a text: itself, or as JSON. */
export function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}
