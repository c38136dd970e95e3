import type { PageElement, PageNode, PageWindow } from './dom.ts'

/** Which elements of a document have listeners. */
export interface Listening {
  /** Elements of the document, those of open shadow roots included; order: as `querySelectorAll` has them. */
  readonly count: number
  /** Positions of those that listen for clicks. */
  readonly positions: readonly number[]
}

/**
 * Runs in the page's own world, where its listeners are, with the console's `getEventListeners`. A page that redefines
 * what this calls can only make its own elements look clickable.
 */
export function findListening(
  win: PageWindow,
  getEventListeners: (element: PageElement) => object,
  max: number
): Listening {
  const CLICKS = /^(?:click|dblclick|mousedown|mouseup|pointerdown|pointerup|touchstart|touchend)$/
  const positions: number[] = []
  let count = 0
  const visit = (root: PageNode): void => {
    for (const element of (root as PageElement).querySelectorAll('*')) {
      if (count < max && Object.keys(getEventListeners(element)).some((type) => CLICKS.test(type))) {
        positions.push(count)
      }
      count++
      if (element.shadowRoot !== null) visit(element.shadowRoot)
    }
  }
  visit(win.document as unknown as PageNode)
  return { count, positions }
}
