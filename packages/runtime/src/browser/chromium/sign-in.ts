import type { Page } from 'playwright-core'
import { type EgressProxy, GREETING } from '../egress/egress-proxy.ts'
import { sessionOf } from '../page-session.ts'

/**
 * Signs in a browser context to its proxy, from its first page, which is empty: Chromium keeps the credentials for all requests of the
 * context. Playwright would stop each of them for the credentials, and turn off the cache.
 * @throws the error of the page if it crashes or closes meanwhile
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
  await page.evaluate(`fetch('${GREETING}', { mode: 'no-cors' }).then(() => undefined)`)
  await send('Fetch.disable')
}
