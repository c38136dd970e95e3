import type { ElementHandle, Locator, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_STALE_REF } from '../../errors.ts'
import type { Spot } from '../../desk-action.ts'
import { type Found, HandleElement, RefElement } from './found.ts'
import type { PageDocument, PageElement } from './page-dom.ts'

/**
 * The element at a spot, at once: it does not wait for one.
 * @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED for a point outside of the viewport
 */
export async function findElement(page: Page, spot: Spot): Promise<Found> {
  if (!('ref' in spot)) return new HandleElement(await findAtPoint(page, spot))
  if ((await locate(page, spot.ref, (locator) => locator.count())) === 0)
    throw new RUN_ERR_BROWSER_STALE_REF(spot.ref)
  return new RefElement(page, spot.ref)
}

/** The same as a handle of Playwright's. @throws as `findElement` */
export async function findHandle(page: Page, spot: Spot): Promise<ElementHandle> {
  if (!('ref' in spot)) return findAtPoint(page, spot)
  const [handle] = await locate(page, spot.ref, (locator) => locator.elementHandles())
  if (handle === undefined) throw new RUN_ERR_BROWSER_STALE_REF(spot.ref)
  return handle
}

async function locate<T>(page: Page, ref: string, work: (locator: Locator) => Promise<T>): Promise<T> {
  // Anything else would be a selector of Playwright's.
  if (!/^(?:f\d+)?e\d+$/.test(ref)) throw new RUN_ERR_BROWSER_STALE_REF(ref.slice(0, 20))
  try {
    return await work(page.getByRef(ref))
  } catch (err) {
    // Playwright rejects the ref of a frame that is gone as a bad selector.
    if (err instanceof Error && err.message.includes('Invalid frame'))
      throw new RUN_ERR_BROWSER_STALE_REF(ref)
    throw err
  }
}

async function findAtPoint(page: Page, at: { x: number; y: number }): Promise<ElementHandle> {
  requirePoint(page, at)
  let frame = page.mainFrame()
  let point = at
  for (;;) {
    const found = (await frame.evaluateHandle(deepestAt, point)).asElement() as ElementHandle | null
    if (found === null) throw new RUN_ERR_BROWSER_ACTION_FAILED(`nothing is at ${at.x},${at.y}`)
    const inner = await found.contentFrame()
    if (inner === null) return found
    const { x, y } = await found.evaluate(contentOrigin)
    point = { x: point.x - x, y: point.y - y }
    frame = inner
  }
}

/** @throws RUN_ERR_BROWSER_ACTION_FAILED for a point outside of the viewport */
export function requirePoint(page: Page, { x, y }: { x: number; y: number }): void {
  const size = page.viewportSize()
  const isInside = size === null || (x >= 0 && y >= 0 && x < size.width && y < size.height)
  if (isInside && Number.isFinite(x) && Number.isFinite(y)) return
  const area = size === null ? '' : `, which is ${size.width} wide and ${size.height} high`
  throw new RUN_ERR_BROWSER_ACTION_FAILED(`${x},${y} is outside of the viewport${area}`)
}

// Runs in the page: the innermost element at a point, also in open shadow roots.
function deepestAt({ x, y }: { x: number; y: number }): PageElement | null {
  const { document } = globalThis as unknown as { document: PageDocument }
  let element = document.elementFromPoint(x, y)
  for (;;) {
    const inner = element?.shadowRoot?.elementFromPoint(x, y) ?? null
    if (inner === null || inner === element) return element
    element = inner
  }
}

// Runs in the page: where the content of a frame begins, in the coordinates of its parent.
function contentOrigin(frame: PageElement): { x: number; y: number } {
  const { x, y } = frame.getBoundingClientRect()
  const style = frame.ownerDocument.defaultView!.getComputedStyle(frame)
  return {
    x: x + frame.clientLeft + Number.parseFloat(style.paddingLeft),
    y: y + frame.clientTop + Number.parseFloat(style.paddingTop)
  }
}
