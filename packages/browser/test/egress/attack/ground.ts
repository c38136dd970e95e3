import type { Refusal } from '../../../src/browser.ts'
import { chromium } from '../../../src/chromium/chromium.ts'
import { launchPlain } from '../../helpers/chromium.ts'
import { deskOptions } from '../../helpers/desk-options.ts'
import { DOMAIN } from './secret.ts'

/** What stands between the pages and the secret servers: nothing, Playwright's interception, or a desk. */
export type Guard = 'none' | 'route' | 'desk'

/** Where an attack comes from. */
export interface Ground {
  /** Opens each page in a tab, and does not wait for what they do. */
  open(pages: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** Names that lead to the secret servers, for `fakeDns` and for Chromium's own resolver. */
export const REBINDING = [
  DOMAIN,
  `*.${DOMAIN}`,
  'secret.local',
  'metadata.google.internal',
  'localhost',
  '*.localhost'
]

const DESKS = 4

/** Opens tabs that may connect to the site alone. */
export function openGround(
  guard: Guard,
  site: string,
  onBlocked: (refusal: Refusal) => void
): Promise<Ground> {
  const { host } = new URL(site)
  return guard === 'desk' ? openDesks(host, onBlocked) : openContext(guard, host)
}

async function openContext(guard: 'none' | 'route', site: string): Promise<Ground> {
  const rules = REBINDING.map((name) => `MAP ${name} 127.0.0.1`)
  const browser = await launchPlain([`--host-resolver-rules=${rules.join(',')}`])
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    serviceWorkers: guard === 'none' ? 'allow' : 'block'
  })
  if (guard === 'route') {
    const isAllowed = (url: URL) => url.host === site || !url.protocol.startsWith('http')
    await context.route('**', (route) =>
      isAllowed(new URL(route.request().url())) ? route.continue() : route.abort()
    )
    await context.routeWebSocket('**', (socket) => void socket.close())
  }
  return {
    async open(pages) {
      const open = async (url: string) => (await context.newPage()).goto(url, { waitUntil: 'commit' })
      await Promise.allSettled(pages.map(open))
    },
    close: () => browser.close()
  }
}

async function openDesks(site: string, onBlocked: (refusal: Refusal) => void): Promise<Ground> {
  const browser = chromium({ sandbox: false, args: ['--ignore-certificate-errors'] })
  const isSite = (hostname: string, port: number) => site === `${hostname}:${port}`
  const options = deskOptions({
    // Every name is allowed: what holds is the check of addresses.
    hosts: { allows: () => true, mayBePrivate: isSite },
    limits: { bytes: 50_000_000, tabs: 50 },
    onBlocked
  })
  const desks = await Promise.all(Array.from({ length: DESKS }, () => browser.open(options)))
  return {
    async open(pages) {
      await Promise.all(
        desks.map(async (desk, index) => {
          for (const [at, url] of pages.entries())
            if (at % DESKS === index)
              // Many of the pages end in a refusal.
              await desk.act({ action: 'open', url, newTab: true }, options.signal).catch(() => undefined)
        })
      )
    },
    close: () => browser.close()
  }
}
