import type { CDPSession, Page } from 'playwright-core'
import { withinTime } from './deadline.ts'

const sessions = new WeakMap<Page, Promise<CDPSession>>()

/**
 * The CDP session that the parts of a desk share for a page: attached on the first call, since each costs the browser as much as an
 * action, and as long-lived as the page. Domains that one part enables stay enabled.
 * @throws Playwright's error if the page is gone
 */
export function sessionOf(page: Page): Promise<CDPSession> {
  let session = sessions.get(page)
  if (session === undefined) {
    session = page.context().newCDPSession(page)
    sessions.set(page, session)
  }
  return session
}

// Milliseconds in which the browser stops.
const STOPPING = 500

/**
 * Gives up a navigation that the server does not answer: Chromium runs no script in a page that is about to be replaced, so that
 * nothing could look at it, and a late answer would replace what the tab shows by then.
 */
export async function stopLoading(page: Page): Promise<void> {
  const stopped = sessionOf(page).then((session) => session.send('Page.stopLoading'))
  // The page may have closed.
  stopped.catch(() => undefined)
  await withinTime(stopped, STOPPING).catch(() => undefined)
}
