import { Type, type TSchema } from '@sinclair/typebox'
import { backoffDelay } from '@svc/registry/kit'
import type { ModelFault } from './model-fault.ts'

/** How transient failures of a model are retried. Times are milliseconds. */
export interface Retry {
  /** Calls in all, the first included. */
  readonly attempts: number
  /** The longest wait before the second attempt; it doubles from one to the next. */
  readonly baseDelay: number
  /** No wait is longer; a provider that asks for a longer one ends the run. */
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
 * Milliseconds until the attempt after this one: what the provider asked for, else exponential backoff with full
 * jitter. Undefined when there is to be none.
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
