import type { PageElement, PageRect, PageWindow } from './dom.ts'

/** What of a large document is left out of its snapshot. */
export interface Pruned {
  /** The roots of what is left out. */
  readonly roots: ReadonlySet<unknown>
  /** Elements left out. */
  readonly count: number
}

/**
 * Runs in a page. Chooses what is left out of the snapshot of a document with more than `max` elements: a snapshot of
 * all of them takes seconds, and its text would be cut anyway. What is in the viewport is kept first, then what follows
 * it in the document.
 */
export function pruneFar(win: PageWindow, rectOf: (element: PageElement) => PageRect, max: number): Pruned {
  const all = [...win.document.querySelectorAll('body *')]
  if (all.length <= max) return { roots: new Set(), count: 0 }
  const kept = new Set<PageElement>()
  const keep = (element: PageElement): void => {
    for (let at: PageElement | null = element; at !== null && !kept.has(at); at = at.parentElement)
      kept.add(at)
  }
  let first = -1
  for (const [index, element] of all.entries()) {
    if (kept.size >= max) break
    const { width, height, top, bottom, left, right } = rectOf(element)
    if (width === 0 || height === 0 || bottom <= 0 || right <= 0) continue
    if (top >= win.innerHeight || left >= win.innerWidth) continue
    // Its ancestors are in the viewport, too, but only what ends a branch says where reading begins.
    if (first === -1 && element.querySelector('*') === null) first = index
    keep(element)
  }
  for (let index = Math.max(0, first); index < all.length && kept.size < max; index++) keep(all[index]!)
  const roots = new Set<PageElement>()
  for (const element of all) {
    if (!kept.has(element) && (element.parentElement === null || kept.has(element.parentElement)))
      roots.add(element)
  }
  return { roots, count: Math.max(0, all.length - kept.size) }
}
