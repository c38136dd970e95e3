import { setTimeout as pause } from 'node:timers/promises'
import type { RunLog } from '@svc/registry'
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
 * Posts a notification until its receiver takes it (any 2xx) or it is hopeless; whether it was taken.
 * @throws the signal's reason when it aborts
 */
export async function deliver(
  { url, headers, body }: Delivery,
  rules: DeliveryRules,
  signal: AbortSignal,
  log: RunLog
): Promise<boolean> {
  const { attempts = 5, backoff = 1_000, timeout = 10_000 } = rules
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOnce(
      url,
      headers,
      body,
      rules,
      AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    )
    signal.throwIfAborted()
    if (outcome === 'taken') return true
    const isOver = outcome === 'refused' || attempt >= attempts
    log.warn({ host: url.host, attempt, outcome, isOver }, 'a push notification was not delivered')
    if (isOver) return false
    const wait = Math.min(MAX_PAUSE, backoff * 2 ** (attempt - 1))
    await pause(wait / 2 + Math.random() * (wait / 2), undefined, { signal })
  }
}

async function attemptOnce(
  url: URL,
  headers: Delivery['headers'],
  body: string,
  rules: TargetRules,
  signal: AbortSignal
): Promise<'taken' | 'refused' | 'failed'> {
  try {
    const status = await safePost(url, { headers, body, signal }, rules)
    if (status >= 200 && status < 300) return 'taken'
    // A redirect is not followed; of the other refusals only these may end by themselves.
    return status >= 500 || status === 408 || status === 429 ? 'failed' : 'refused'
  } catch (err) {
    return err instanceof UnsafeTargetError ? 'refused' : 'failed'
  }
}
