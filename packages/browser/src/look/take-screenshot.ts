import type { Page } from 'playwright-core'
import type { Screenshot, ScreenshotOptions } from '../browser.ts'
import { bounded, type LookBounds } from './bounded.ts'
import { withMarks } from './marks.ts'
import { walk } from './seen-node.ts'
import { takeSnapshot } from './snapshot.ts'

const SECRET_FIELDS =
  'input[type=password], :is(input, textarea):is([autocomplete*="-password"], [autocomplete*="one-time-code"], [autocomplete*="cc-"])'
// What is farther away is not in the image.
const MAX_ELEMENTS = 1_500

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
  { hide = [], marks = false }: ScreenshotOptions,
  bounds: LookBounds
): Promise<Screenshot> {
  const { timeout, signal } = bounds
  const snapshot = await takeSnapshot(page, bounds, MAX_ELEMENTS)
  // By selector also those that have no ref, by ref also those that only were password fields once.
  const secret = page.frames().map((frame) => frame.locator(SECRET_FIELDS))
  const masked = [...walk(snapshot.roots)].flatMap(({ isMasked, ref }) =>
    isMasked === true && ref ? [ref] : []
  )
  const mask = [...secret, ...[...masked, ...hide].map((ref) => page.getByRef(ref))]
  const take = () =>
    page.screenshot({
      type: 'jpeg',
      quality: 70,
      scale: 'css',
      animations: 'disabled',
      mask,
      timeout,
      ...(signal && { signal })
    })
  const data = await (marks ? withMarks(page, snapshot, take) : take())
  return { data, mimeType: 'image/jpeg', ...(page.viewportSize() ?? snapshot.viewport) }
}
