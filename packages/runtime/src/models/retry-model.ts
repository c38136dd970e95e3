import { Type, type TSchema } from '@sinclair/typebox'
import { backoffDelay } from '@svc/contract'
import type { ModelFault } from './model-fault.ts'

/** How transient failures of a model are retried. Times are milliseconds. */
export interface Retry {
  /** Total calls, including the first. */
  readonly attempts: number
  /** The maximum wait before the second attempt; doubles with each attempt. */
  readonly baseDelay: number
  /** The maximum wait; if the provider requests a longer one, the run fails. */
  readonly maxDelay: number
}

export const RetrySchema = Type.Object(
  {
    attempts: Type.Optional(Type.Integer({ minimum: 1, description: 'Calls in all; default 3' })),
    baseDelay: Type.Optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 500' })),
    maxDelay: Type.Optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 30,000' }))
  } satisfies Record<keyof Retry, TSchema>,
  { additionalProperties: false }
)

export const RETRY_DEFAULTS: Retry = { attempts: 3, baseDelay: 500, maxDelay: 30_000 }

/**
 * Milliseconds until the next attempt: the provider's request, else exponential backoff with full jitter; undefined if
 * there is no next attempt.
 */
export function retryDelay(
  fault: ModelFault,
  attempt: number,
  retry: Retry,
  random = Math.random
): number | undefined {
  const { transient, retryAfter } = fault
  if (!transient || attempt >= retry.attempts) return undefined
  if (retryAfter !== undefined && retryAfter > 0) return retryAfter > retry.maxDelay ? undefined : retryAfter
  return backoffDelay(attempt, retry, random)
}
