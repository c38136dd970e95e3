import { safePost } from './safe-post.ts'
import { UnsafeTargetError, type TargetRules } from './safe-target.ts'

/** How hard it is tried. */
export interface DeliveryRules extends TargetRules {
  /** Requests for one event at most; default 5. */
  attempts?: number | undefined
  /** Milliseconds before the second attempt; each later pause is twice as long, up to 30 s; default 1,000. */
  backoff?: number | undefined
  /** Milliseconds that a receiver has to answer; default 10,000. */
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
 * Posts a notification once: whether its receiver took it (any 2xx), refused it, or may take it later.
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
    // A redirect is not followed; of the other refusals only these may end by themselves.
    return status >= 500 || status === 408 || status === 429 ? 'failed' : 'refused'
  } catch (err) {
    signal.throwIfAborted()
    return err instanceof UnsafeTargetError ? 'refused' : 'failed'
  }
}

/** Milliseconds to wait after so many failures. */
export function pauseAfter(failures: number, { backoff = 1_000 }: DeliveryRules): number {
  const longest = Math.min(MAX_PAUSE, backoff * 2 ** (failures - 1))
  return longest / 2 + Math.random() * (longest / 2)
}
