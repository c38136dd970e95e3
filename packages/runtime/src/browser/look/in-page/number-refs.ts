import type { PageElement, PageWindow } from './dom.ts'

/** What Playwright keeps of an element with a ref. */
interface Named {
  ref: string
}

/** The refs of the elements of a document, which last as long as it. */
export type Refs = WeakMap<PageElement, Named>

/**
 * Runs in the isolated world of a page. Playwright numbers the refs of each document from 1, so that a ref of a page that
 * was left would name an element of the next one. New refs are numbered from `lastRef` on instead.
 * @returns the number of the last ref
 */
export function numberRefs(win: PageWindow, refs: Refs, lastRef: number): () => number {
  let last = lastRef
  Object.defineProperty(win.Element.prototype, '_ariaRef', {
    configurable: true,
    get(this: PageElement): Named | undefined {
      return refs.get(this)
    },
    set(this: PageElement, named: Named) {
      named.ref = named.ref.replace(/\d+$/, '') + String(++last)
      refs.set(this, named)
    }
  })
  return () => last
}
