import type { Page } from 'playwright-core'
import { withinTime } from '../../deadline.ts'

// Milliseconds in which the browser stops.
const STOPPING = 500

/**
 * Gives up a navigation that the server does not answer: Chromium runs no script in a page that is about to be replaced, so that
 * nothing could look at it, and a late answer would replace what the tab shows by then.
 */
export async function stopLoading(page: Page): Promise<void> {
  const stopped = stop(page)
  // The page may have closed.
  stopped.catch(() => undefined)
  await withinTime(stopped, STOPPING).catch(() => undefined)
}

async function stop(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Page.stopLoading')
  await session.detach()
}
