import type { PageElement, PageWindow } from './dom.ts'

/** What Playwright keeps of an element with a ref. */
interface Named {
  ref: string
}

/** The refs of a document. Their numbers count on from document to document. */
export interface Refs {
  /** The number of the last ref that is taken. */
  last: number
  /** The element of a ref, as long as it is in the document. */
  find(ref: string): PageElement | undefined
}

/**
 * Runs in the isolated world of a page. Playwright numbers the refs of each document from 1, so that a ref of a page that
 * was left would name an element of the next one. New refs are numbered from `last` on instead.
 */
export function numberRefs(win: PageWindow): Refs {
  const named = new WeakMap<PageElement, Named>()
  const elements = new Map<string, WeakRef<PageElement>>()
  const refs: Refs = {
    last: 0,
    find(ref) {
      const element = elements.get(ref)?.deref()
      return element?.isConnected && named.get(element)?.ref === ref ? element : undefined
    }
  }
  Object.defineProperty(win.Element.prototype, '_ariaRef', {
    configurable: true,
    get(this: PageElement): Named | undefined {
      return named.get(this)
    },
    set(this: PageElement, value: Named) {
      value.ref = value.ref.replace(/\d+$/, '') + String(++refs.last)
      named.set(this, value)
      elements.set(value.ref, new WeakRef(this))
    }
  })
  return refs
}
