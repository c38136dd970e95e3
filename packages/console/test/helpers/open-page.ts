import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** A tab of the console that notes what it must not do. */
export interface ConsoleTab {
  readonly page: Page
  /** Errors of the page, violations of its policy, and requests to other origins; empty if all is well. */
  faults(): Promise<string[]>
  /** What axe finds in the page as it is, in light and in dark colors, as `dark: rule: element`. */
  axe(): Promise<string[]>
}

const NOTE_VIOLATIONS = `globalThis.violations = []
addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI))`

// Changed styles apply with the next frame; `reducedMotion` leaves no transitions.
const DRAWN = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`

type Test = { teardown(fn: () => unknown): unknown }

/** Opens the console in a context of its own. */
export async function openPage(
  t: Test,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {}
): Promise<ConsoleTab> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  t.teardown(() => context.close())
  const faults: string[] = []
  const { origin } = new URL(url)
  context.on('request', (request) => {
    const target = new URL(request.url())
    if (target.origin !== origin && target.protocol !== 'blob:') faults.push(`requested ${target.href}`)
  })
  await context.addInitScript({ content: NOTE_VIOLATIONS })
  const page = await context.newPage()
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) faults.push(message.text())
  })
  await page.goto(url)
  return {
    page,
    async faults() {
      const violations = await page.evaluate(
        () => (globalThis as unknown as { violations: string[] }).violations
      )
      return [...faults, ...violations]
    },
    async axe() {
      const found: string[] = []
      await page.evaluate(axe.source)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.evaluate(DRAWN)
        const { violations } = await page.evaluate(() =>
          (globalThis as unknown as { axe: typeof axe }).axe.run({
            runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
          })
        )
        for (const { id, nodes } of violations)
          found.push(...nodes.map(({ html }) => `${colorScheme}: ${id}: ${html}`))
      }
      await page.emulateMedia({ colorScheme: options.colorScheme ?? null })
      return found
    }
  }
}
