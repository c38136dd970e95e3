import type { DeskAction } from '../../desk-action.ts'
import type { Act } from './act.ts'
import type { PageDocument, PageElement } from './page-dom.ts'

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
