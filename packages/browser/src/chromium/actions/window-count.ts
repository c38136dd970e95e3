import type { Page } from 'playwright-core'
import { sessionOf } from '../../page-session.ts'

interface Count {
  value: number
}

const counts = new WeakMap<Page, Count>()

/**
 * Counts the windows that a page has asked to open, from the first call for this page on. The count grows before the action that opens
 * a window returns, which Playwright's `popup` event does not.
 */
export function windowCount(page: Page): Readonly<Count> {
  let count = counts.get(page)
  if (count === undefined) {
    counts.set(page, (count = { value: 0 }))
    // A page that has closed opens none.
    void listen(page, count).catch(() => undefined)
  }
  return count
}

async function listen(page: Page, count: Count): Promise<void> {
  const session = await sessionOf(page)
  session.on('Page.windowOpen', () => count.value++)
  await session.send('Page.enable')
}
