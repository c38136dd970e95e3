import type { Page } from 'playwright-core'
import type { Screenshot, ScreenshotOptions } from '../browser.ts'
import { bounded, type LookBounds } from './bounded.ts'

/**
 * Takes the viewport of a page as a JPEG, with password fields covered.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED, the reason of the signal
 */
export async function takeScreenshot(
  page: Page,
  options: ScreenshotOptions,
  bounds: LookBounds
): Promise<Screenshot> {
  return bounded(page, 'screenshot', () => screenshot(page, options, bounds), bounds)
}

async function screenshot(
  page: Page,
  { hide = [] }: ScreenshotOptions,
  { timeout, signal }: LookBounds
): Promise<Screenshot> {
  const covered = hide.map((ref) => page.getByRef(ref))
  const data = await page.screenshot({
    type: 'jpeg',
    quality: 70,
    scale: 'css',
    animations: 'disabled',
    mask: [page.locator('input[type=password]'), ...covered],
    timeout,
    ...(signal && { signal })
  })
  return { data, mimeType: 'image/jpeg', ...(page.viewportSize() ?? { width: 1280, height: 800 }) }
}
