import type { PageElement, PageWindow } from './dom.ts'

/** What Playwright keeps of an element with a ref. */
interface Named {
  ref: string
}

/** The numbers of refs, which count on from document to document. */
export interface RefNumbers {
  /** That of the last ref that is taken. */
  last: number
}

/**
 * Runs in the isolated world of a page. Playwright numbers the refs of each document from 1, so that a ref of a page that
 * was left would name an element of the next one. New refs are numbered from `numbers.last` on instead.
 */
export function numberRefs(win: PageWindow): RefNumbers {
  const numbers = { last: 0 }
  const refs = new WeakMap<PageElement, Named>()
  Object.defineProperty(win.Element.prototype, '_ariaRef', {
    configurable: true,
    get(this: PageElement): Named | undefined {
      return refs.get(this)
    },
    set(this: PageElement, named: Named) {
      named.ref = named.ref.replace(/\d+$/, '') + String(++numbers.last)
      refs.set(this, named)
    }
  })
  return numbers
}
