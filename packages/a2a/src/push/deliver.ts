import { backoffDelay } from '@svc/contract'
import { safePost, UnsafeTargetError, type TargetRules } from '@svc/surface'

/** How often, and how long, a delivery is attempted. */
export interface DeliveryRules extends TargetRules {
  /** Requests for one event at most; default 5. */
  attempts?: number | undefined
  /** Milliseconds before the second attempt; each later pause is twice as long, up to 30 s; default 1,000. */
  backoff?: number | undefined
  /** Milliseconds for a receiver to answer; default 10,000. */
  timeout?: number | undefined
}

/** One notification. */
export interface Delivery {
  url: URL
  headers: Readonly<Record<string, string>>
  body: string
}

const MAX_PAUSE = 30_000

/**
 * Posts a notification once. `taken`: any 2xx; `refused`: another attempt is futile; `failed`: another may succeed.
 * @throws the signal's reason when it aborts
 */
export async function deliver(
  { url, headers, body }: Delivery,
  rules: DeliveryRules,
  signal: AbortSignal
): Promise<'taken' | 'refused' | 'failed'> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(rules.timeout ?? 10_000)])
  try {
    const status = await safePost(url, { headers, body, signal: limit }, rules)
    if (status >= 200 && status < 300) return 'taken'
    // Redirects are not followed. Of the 4xx only a timeout and a rate limit are temporary.
    return status >= 500 || status === 408 || status === 429 ? 'failed' : 'refused'
  } catch (err) {
    signal.throwIfAborted()
    return err instanceof UnsafeTargetError ? 'refused' : 'failed'
  }
}

/** Milliseconds to wait after `failures` in a row. Half of it is no jitter, or all attempts could fall into one outage. */
export function pauseAfter(failures: number, { backoff = 1_000 }: DeliveryRules): number {
  return backoffDelay(failures, { baseDelay: backoff, maxDelay: MAX_PAUSE, steadiness: 0.5 })
}
