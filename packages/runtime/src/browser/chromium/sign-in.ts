import type { Page } from 'playwright-core'
import { type EgressProxy, GREETING } from '../egress/egress-proxy.ts'
import { callInPage, sessionOf } from '../page-session.ts'

/**
 * Signs in a browser context to its proxy, from its first page, which is empty: Chromium keeps the credentials for all requests of the
 * context. Playwright would stop each of them for the credentials, and turn off the cache. Waits without end for a page that crashes.
 * @throws the error of the page if it closes meanwhile
 */
export async function signIn(
  page: Page,
  { server, username, password }: EgressProxy['settings']
): Promise<void> {
  const session = await sessionOf(page)
  const send: typeof session.send = (method, params) => session.send(method, params)
  session.on('Fetch.requestPaused', ({ requestId }) => {
    // The page may be gone, which is what the request itself reports.
    send('Fetch.continueRequest', { requestId }).catch(() => undefined)
  })
  session.on('Fetch.authRequired', ({ requestId, authChallenge: { source, origin } }) => {
    const authChallengeResponse =
      source === 'Proxy' && origin === server
        ? { response: 'ProvideCredentials' as const, username, password }
        : { response: 'CancelAuth' as const }
    send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined)
  })
  await send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: `${GREETING}*` }] })
  await callInPage(page, greet, GREETING)
  await send('Fetch.disable')
}

// Runs in the page.
async function greet(url: string): Promise<void> {
  await fetch(url, { mode: 'no-cors' })
}
