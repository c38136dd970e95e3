import type { Page } from 'playwright-core'
import type { Screenshot, ScreenshotOptions } from '../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../errors.ts'
import { drawMarks, type Mark } from './in-page/draw-marks.ts'
import { evaluateIn, openWorlds } from './page-worlds.ts'
import { bounded, takeSnapshot, type LookBounds, type Snapshot } from './snapshot.ts'
import { walk } from './to-lines.ts'

const ACTED_ON = new Set([
  'button',
  'checkbox',
  'clickable',
  'combobox',
  'gridcell',
  'link',
  'listbox',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'option',
  'radio',
  'searchbox',
  'slider',
  'spinbutton',
  'switch',
  'tab',
  'textbox',
  'treeitem'
])
const MAX_MARKS = 300
const STATE = '(globalThis.__look ??= {})'

/** Runs work while the refs of what can be acted on are drawn upon the viewport of a page. */
export async function withMarks<T>(page: Page, snapshot: Snapshot, work: () => Promise<T>): Promise<T> {
  const marks = JSON.stringify(findMarks(snapshot))
  const worlds = await openWorlds(page)
  const { frameTree } = (await worlds.list[0]?.session.send('Page.getFrameTree')) ?? {}
  const main = worlds.list.find(({ frameId }) => frameId === frameTree?.frame.id)
  if (main === undefined)
    throw new RUN_ERR_BROWSER_ACTION_FAILED('the page is navigating; wait, then look again')
  try {
    await evaluateIn(main, `(${String(drawMarks)})(globalThis, ${STATE}, ${marks})`)
    return await work()
  } finally {
    void evaluateIn(main, `${STATE}.removeMarks?.()`)
      .catch(() => {})
      .then(() => worlds.close())
  }
}

function findMarks({ roots, viewport }: Snapshot): Mark[] {
  const marks: Mark[] = []
  for (const { ref, box, role, states } of walk(roots)) {
    if (ref === undefined || box === undefined || marks.length >= MAX_MARKS) continue
    if (!ACTED_ON.has(role) && !states.includes('clickable') && !states.includes('draggable')) continue
    const { x, y, width, height } = box
    const isInside = x < viewport.width && y < viewport.height && x + width > 0 && y + height > 0
    if (isInside) marks.push({ label: ref, x, y, width, height })
  }
  return marks
}

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
