/* oxlint-disable unicorn/consistent-function-scoping -- runs in a page, where nothing outside of the function exists */
import type { PageElement, PageNode, PageRect, PageWindow } from './dom.ts'
import type { Listening } from './listening.ts'

/** Runs in a page. Finds elements that react to clicks although their tags and roles do not say so. */
export function findClickables(
  win: PageWindow,
  rectOf: (element: PageElement) => PageRect,
  { count, positions }: Listening
): Set<PageElement> {
  const WIDGETS =
    'a[href],button,input,select,textarea,summary,label,option,iframe,audio[controls],video[controls],[contenteditable=""],[contenteditable=true],[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=option],[role=combobox],[role=textbox],[role=searchbox],[role=slider],[role=spinbutton],[role=treeitem],[role=gridcell],[role^=menuitem]'
  const SKIPPED = new Set(['HTML', 'BODY', 'SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'HEAD', 'BR', 'SLOT'])
  const elements: PageElement[] = []
  const visit = (root: PageNode): void => {
    for (const element of (root as PageElement).querySelectorAll('*')) {
      elements.push(element)
      if (element.shadowRoot !== null) visit(element.shadowRoot)
    }
  }
  visit(win.document as unknown as PageNode)
  // Positions of a document that changed meanwhile would name others.
  const listening = new Set(count === elements.length ? positions : [])
  // Within a viewport of what is seen: styles of all elements of a large page take too long.
  const isNear = ({ width, height, top, bottom }: PageRect): boolean =>
    width >= 3 && height >= 3 && bottom >= -win.innerHeight && top <= 2 * win.innerHeight
  const pointsItself = (element: PageElement): boolean =>
    win.getComputedStyle(element)['cursor'] === 'pointer' &&
    (element.parentElement === null || win.getComputedStyle(element.parentElement)['cursor'] !== 'pointer')
  const takesFocus = (element: PageElement): boolean => Number(element.getAttribute('tabindex') ?? -1) >= 0
  const reacts = (element: PageElement, position: number): boolean =>
    listening.has(position) || element.hasAttribute('onclick') || takesFocus(element) || pointsItself(element)
  return new Set(
    elements.filter((element, position) => {
      if (SKIPPED.has(element.tagName.toUpperCase()) || !isNear(rectOf(element))) return false
      // The parts of an icon are clicked by way of the icon.
      if (element.parentElement?.closest('svg')) return false
      return reacts(element, position) && element.closest(WIDGETS) === null
    })
  )
}
