import type { ElementHandle, Page } from 'playwright-core'
import { unlessAborted } from '../../../guards/guard.ts'
import type { Target } from '../../browser.ts'
import type { Spot } from '../../desk-action.ts'
import { findElement } from './find-element.ts'
import { readTarget } from './read-target.ts'

/**
 * The facts that decide what an action on an element is. The page can make up all but the URL of the frame.
 * @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED, the reason of the signal
 */
export async function describeTarget(page: Page, spot: Spot, signal: AbortSignal): Promise<Target> {
  return unlessAborted(signal, async () => {
    const element = await findElement(page, spot)
    const [frameUrl, facts] = await Promise.all([frameUrlOf(element), element.evaluate(readTarget)])
    return { frameUrl, ...facts }
  })
}

async function frameUrlOf(element: ElementHandle): Promise<string> {
  const frame = await element.ownerFrame()
  return frame?.url() ?? ''
}
