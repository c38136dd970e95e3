import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED } from '../errors.ts'

/** How long a look or a screenshot may take. */
export interface LookBounds {
  /** Milliseconds until it fails with RUN_ERR_BROWSER_ACTION_FAILED. */
  readonly timeout: number
  /** Ends it with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

const CRASHED = /Target crashed|Page crashed|has been closed|Target closed|Session closed|disconnected/i

/**
 * Awaits work on a page.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED if it takes too long, RUN_ERR_BROWSER_CRASHED if the page or browser is gone
 */
export async function bounded<T>(
  page: Page,
  what: string,
  work: () => Promise<T>,
  { timeout, signal }: LookBounds
): Promise<T> {
  signal?.throwIfAborted()
  let timer: NodeJS.Timeout | undefined
  let onAbort: (() => void) | undefined
  let onCrash: (() => void) | undefined
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new RUN_ERR_BROWSER_ACTION_FAILED(`the page did not answer within ${timeout} ms: ${what}`))
    }, timeout)
    onAbort = () => reject(signal!.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    onCrash = () => reject(new RUN_ERR_BROWSER_CRASHED())
    page.once('crash', onCrash).once('close', onCrash)
  })
  try {
    return await Promise.race([work(), ended])
  } catch (error) {
    if (error instanceof Error && !('statusCode' in error) && CRASHED.test(error.message)) {
      throw new RUN_ERR_BROWSER_CRASHED({ cause: error })
    }
    throw error
  } finally {
    clearTimeout(timer)
    if (onCrash !== undefined) page.off('crash', onCrash).off('close', onCrash)
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort)
  }
}
