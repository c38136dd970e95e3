import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import { unlessAborted } from '@svc/runtime/loop'
import type { Target } from '../../browser.ts'
import type { Spot } from '../../desk-action.ts'
import { LATE, withinTime } from '../../deadline.ts'
import { findElement } from './find-element.ts'
import { readTarget } from './read-target.ts'

/**
 * The facts that decide what an action on an element is. `timeout`: milliseconds.
 * @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED, the reason of the signal
 */
export async function describeTarget(
  page: Page,
  spot: Spot,
  { timeout, signal }: { timeout: number; signal: AbortSignal }
): Promise<Target> {
  const target = await unlessAborted(signal, () => withinTime(read(page, spot), timeout))
  if (target !== LATE) return target
  throw new RUN_ERR_BROWSER_ACTION_FAILED(`the page did not respond within ${timeout} ms`)
}

async function read(page: Page, spot: Spot): Promise<Target> {
  const element = await findElement(page, spot)
  const [frameUrl, facts] = await Promise.all([element.frameUrl(), element.evaluate(readTarget)])
  return { frameUrl, ...facts }
}
