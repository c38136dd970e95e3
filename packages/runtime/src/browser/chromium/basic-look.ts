import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import type { Look, LookOptions, Screenshot, ScreenshotOptions } from '../browser.ts'

interface Bounds {
  readonly timeout: number
  readonly signal: AbortSignal
}

const MAX_CHARS = 24_000

/** Looks at the page as Playwright shows it. */
export async function takeLook(
  page: Page,
  { maxChars = MAX_CHARS }: LookOptions,
  { timeout, signal }: Bounds
): Promise<Pick<Look, 'text' | 'omitted' | 'hash'>> {
  const text = await page.ariaSnapshot({ mode: 'ai', timeout, signal })
  const lines = text.slice(maxChars).split('\n').length - 1
  return {
    text: text.slice(0, maxChars),
    omitted: lines,
    hash: createHash('sha1').update(text).digest('hex')
  }
}

/** Takes the viewport as a JPEG. */
export async function takeScreenshot(
  page: Page,
  { hide = [] }: ScreenshotOptions,
  { timeout, signal }: Bounds
): Promise<Screenshot> {
  const mask = [page.locator('input[type=password]'), ...hide.map((ref) => page.getByRef(ref))]
  const data = await page.screenshot({ type: 'jpeg', scale: 'css', mask, timeout, signal })
  return { data, mimeType: 'image/jpeg', ...(page.viewportSize() ?? { width: 0, height: 0 }) }
}
