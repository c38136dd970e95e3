import type { DeskAction, Spot } from '../../browser.ts'
import type { Act } from './act.ts'
import { requirePoint } from './find-element.ts'
import type { PageDocument, PageElement } from './page-dom.ts'

type Click = Extract<DeskAction, { action: 'click' }>
type Hover = Extract<DeskAction, { action: 'hover' }>

/** Clicks once an element is visible, enabled, at rest and not covered; at a point, whatever is there. */
export async function click(act: Act, { at, button = 'left', count = 1 }: Click): Promise<void> {
  const options = { button, clickCount: count }
  act.watch.onFileChooser(() => act.desk.notice('The page asks for files: use the upload action'))
  if ('ref' in at) {
    const element = await act.find(at)
    await act.step(() => element.click({ ...options, ...act.limits }))
  } else {
    requirePoint(act.page, at)
    await act.step(() => act.page.mouse.click(at.x, at.y, options))
  }
}

/** Moves the pointer to an element, and leaves it there. */
export async function hover(act: Act, { at }: Hover): Promise<void> {
  if ('ref' in at) {
    const element = await act.find(at)
    await act.step(() => element.hover(act.limits))
  } else {
    requirePoint(act.page, at)
    await act.step(() => act.page.mouse.move(at.x, at.y))
  }
}

type Drag = Extract<DeskAction, { action: 'drag' }>

// Pages that follow the pointer look at the way it takes, not only at where it ends.
const STEPS = 8

/** Drags from one spot to another with the mouse, which works for HTML drag and drop and for pages that follow the pointer. */
export async function drag(act: Act, { from, to }: Drag): Promise<void> {
  const { mouse } = act.page
  const start = await act.step(() => pointOf(act, from))
  await act.step(() => mouse.move(start.x, start.y))
  await act.step(() => mouse.down())
  try {
    // Only now: scrolling to the target may move the source.
    const end = await pointOf(act, to)
    await act.step(() => mouse.move(end.x, end.y, { steps: STEPS }))
  } finally {
    // Also when the action ends early: a button that stays down would drag along whatever comes next.
    await mouse.up()
  }
}

async function pointOf(act: Act, spot: Spot): Promise<{ x: number; y: number }> {
  if (!('ref' in spot)) {
    requirePoint(act.page, spot)
    return spot
  }
  const element = await act.findHandle(spot)
  await act.step(() => element.scrollIntoViewIfNeeded(act.limits))
  const box = await act.step(() => element.boundingBox())
  if (box === null) act.fail('the element is hidden')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

type Scroll = Extract<DeskAction, { action: 'scroll' }>

/** Scrolls the page, or what can be scrolled around a spot. */
export async function scroll(act: Act, { at, direction, pages = 1 }: Scroll): Promise<void> {
  const way = { direction, pages }
  let hasMoved: boolean
  if (at === undefined) hasMoved = await act.step(() => act.page.evaluate(scrollPage, way))
  else {
    const element = await act.find(at)
    hasMoved = await act.step(() => element.evaluate(scrollAround, way))
  }
  if (!hasMoved) act.desk.notice(`It does not scroll further ${direction}`)
}

interface Way {
  readonly direction: Scroll['direction']
  readonly pages: number
}

// Runs in the page. Where the document itself does not scroll, its largest box does.
function scrollPage({ direction, pages }: Way): boolean {
  const { document } = globalThis as unknown as { document: PageDocument }
  const isVertical = direction === 'up' || direction === 'down'
  const sign = direction === 'up' || direction === 'left' ? -1 : 1
  const root = document.scrollingElement ?? document.documentElement
  // The viewport takes the overflow of the document, or of its body.
  const isFixed = [root, document.body ?? root].some((each) =>
    /hidden|clip/.test(
      each.ownerDocument.defaultView!.getComputedStyle(each)[isVertical ? 'overflowY' : 'overflowX']
    )
  )
  const canScroll = (box: PageElement) => {
    if (isVertical ? box.scrollHeight <= box.clientHeight + 1 : box.scrollWidth <= box.clientWidth + 1)
      return false
    const { overflowX, overflowY } = box.ownerDocument.defaultView!.getComputedStyle(box)
    const overflow = isVertical ? overflowY : overflowX
    return box === root ? !isFixed : /auto|scroll|overlay/.test(overflow)
  }
  const boxes = canScroll(root) ? [root] : Array.from(document.querySelectorAll('*')).filter(canScroll)
  boxes.sort((a, b) => b.clientWidth * b.clientHeight - a.clientWidth * a.clientHeight)
  const box = boxes[0] ?? root
  const before = isVertical ? box.scrollTop : box.scrollLeft
  const by = sign * pages * 0.9 * (isVertical ? box.clientHeight : box.clientWidth)
  box.scrollBy({ top: isVertical ? by : 0, left: isVertical ? 0 : by, behavior: 'instant' })
  return (isVertical ? box.scrollTop : box.scrollLeft) !== before
}

// Runs in the page: scrolls the innermost box around the element that still can be scrolled that way.
function scrollAround(element: PageElement, { direction, pages }: Way): boolean {
  const isVertical = direction === 'up' || direction === 'down'
  const sign = direction === 'up' || direction === 'left' ? -1 : 1
  const { scrollingElement: root } = element.ownerDocument
  let box: PageElement | null | undefined = element
  while (box) {
    const { overflowX, overflowY } = box.ownerDocument.defaultView!.getComputedStyle(box)
    if (box === root || /auto|scroll|overlay/.test(isVertical ? overflowY : overflowX)) {
      const before = isVertical ? box.scrollTop : box.scrollLeft
      const by = sign * pages * 0.9 * (isVertical ? box.clientHeight : box.clientWidth)
      box.scrollBy({ top: isVertical ? by : 0, left: isVertical ? 0 : by, behavior: 'instant' })
      if ((isVertical ? box.scrollTop : box.scrollLeft) !== before) return true
    }
    box = box.assignedSlot ?? box.parentElement ?? box.getRootNode().host
  }
  return false
}
