import type { Browser, CDPSession, Page } from 'playwright-core'
import { withinTime } from './browser.ts'

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

const browserSessions = new WeakMap<Browser, Promise<CDPSession>>()

/** The CDP session that all desks share for their browser. @throws Playwright's error if the browser is gone */
export function sessionOfBrowser(browser: Browser): Promise<CDPSession> {
  let session = browserSessions.get(browser)
  if (session === undefined) {
    session = browser.newBrowserCDPSession()
    browserSessions.set(browser, session)
  }
  return session
}

/**
 * Calls a function in the main frame of a page, among the page's own scripts. It may return a promise; argument and result must be JSON.
 * Unlike `evaluate` of Playwright it needs no scripts in each document, and gives the page no user activation; it waits for a page
 * that crashes without end.
 * @throws Playwright's error if the page is gone, or navigates meanwhile
 */
export async function callInPage<A, R>(
  page: Page,
  call: (argument: A) => Promise<R>,
  argument: A
): Promise<R> {
  const { result, exceptionDetails } = await (
    await sessionOf(page)
  ).send('Runtime.evaluate', {
    expression: `(${String(call)})(${JSON.stringify(argument)})`,
    awaitPromise: true,
    returnByValue: true
  })
  if (exceptionDetails !== undefined)
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  return result.value as R
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
