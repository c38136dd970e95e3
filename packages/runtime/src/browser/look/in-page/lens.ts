/* oxlint-disable unicorn/consistent-function-scoping -- runs in a page, where nothing outside of the function exists */
import type { findClickables } from './clickable.ts'
import type { PageElement, PageNode, PageRect, PageWindow } from './dom.ts'
import type { describeElement } from './describe-element.ts'
import type { createHiddenText } from './hidden-text.ts'
import type { Listening } from './listening.ts'
import type { createMask, MaskMemory } from './mask.ts'
import type { numberRefs, Refs } from './number-refs.ts'
import type { pruneFar } from './prune.ts'

/** What a lens reports of an element: its box, and what the snapshot does not say. */
export interface ElementFacts {
  readonly box: readonly [x: number, y: number, width: number, height: number]
  /** True if the element has a role only because of the lens. */
  readonly isLent?: boolean
  readonly isMasked?: boolean
  readonly isClickable?: boolean
  readonly states?: readonly string[]
  /** What its attributes say, for a control without a name. */
  readonly hint?: string
  readonly facts?: Readonly<Record<string, string>>
}

/** What a lens reports of a document when it is taken off. */
export interface LensReport {
  /** By id, from the lens's base on. */
  readonly elements: readonly ElementFacts[]
  readonly viewport: { readonly width: number; readonly height: number }
  /** CSS pixels of the document above and below the viewport. */
  readonly above: number
  readonly below: number
  /** Elements that are not in the snapshot, because they are too many. */
  readonly pruned: number
  /** The number of the last ref that is taken. */
  readonly lastRef: number
  /** The values of secret fields, since the document began. */
  readonly passwords: readonly string[]
}

/** What lenses of the same document share. */
export interface LensState {
  /** Takes the lens off. */
  end?: (() => LensReport) | undefined
  restore?: (() => void) | undefined
  memory?: MaskMemory
  refs?: Refs
}

/** What a lens is given from outside of the page. */
export interface LensOptions {
  /** The first id. */
  readonly base: number
  /** What stands for the value of a secret field. */
  readonly mask: string
  readonly listening: Listening
  /** Elements of a document in its snapshot. */
  readonly maxElements: number
  /** The number of the last ref that is taken. */
  readonly lastRef: number
}

/** The scripts that a lens is made of. */
export interface LensParts {
  readonly createHiddenText: typeof createHiddenText
  readonly createMask: typeof createMask
  readonly describeElement: typeof describeElement
  readonly findClickables: typeof findClickables
  readonly numberRefs: typeof numberRefs
  readonly pruneFar: typeof pruneFar
}

/**
 * Runs in the isolated world of a page, which the page's own scripts neither see nor reach. A lens changes what the DOM
 * of that world answers while Playwright takes its snapshot there: hidden text is empty, secrets are masked, elements
 * that react to clicks have a role. The document itself does not change. Instead of `x` of its box, the snapshot has the
 * id of an element, by which the report is joined to it.
 */
export function putLensOn(
  win: PageWindow,
  state: LensState,
  parts: LensParts,
  { base, mask, listening, maxElements, lastRef }: LensOptions
): void {
  // A lens that an interrupted look left on.
  state.restore?.()
  const getter = (prototype: object, key: string) => {
    const { get } = Object.getOwnPropertyDescriptor(prototype, key)!
    return (target: object): unknown => get!.call(target)
  }
  const { Node, Element, HTMLInputElement, HTMLTextAreaElement } = win
  const rect = (Element.prototype as PageElement).getBoundingClientRect
  const rectOf = (element: PageElement): PageRect => rect.call(element)
  const attribute = (Element.prototype as PageElement).getAttribute
  const inputValue = getter(HTMLInputElement.prototype, 'value')
  const areaValue = getter(HTMLTextAreaElement.prototype, 'value')
  const valueOf = (field: PageElement): string =>
    String(field.tagName === 'TEXTAREA' ? areaValue(field) : inputValue(field))
  const nodeValue = getter(Node.prototype, 'nodeValue') as (node: object) => string | null
  const nodeType = getter(Node.prototype, 'nodeType')
  const COMMENT = 8
  const textContent = getter(Node.prototype, 'textContent') as (node: object) => string | null
  const style = win.getComputedStyle.bind(win)

  state.memory ??= { fields: new WeakSet(), values: new Set() }
  const { hides, cover } = parts.createMask(win, state.memory, mask, valueOf)
  if (state.memory.observer === undefined) {
    // A field that shows its value between two looks is remembered, too.
    const { memory } = state
    memory.observer = new win.MutationObserver(() => void parts.createMask(win, memory, mask, valueOf))
    memory.observer.observe(win.document as unknown as PageNode, {
      attributes: true,
      attributeFilter: ['type', 'autocomplete'],
      subtree: true
    })
  }
  const isHidden = parts.createHiddenText(win, rectOf)
  const clickable = parts.findClickables(win, rectOf, listening)
  const lastNumber = parts.numberRefs(win, (state.refs ??= new WeakMap()), lastRef)
  const pruned = parts.pruneFar(win, rectOf, maxElements)

  const lent = new Set<PageElement>()
  const ids = new Map<PageElement, number>()
  const elements: PageElement[] = []
  const redefined: [object, string, PropertyDescriptor][] = []
  const redefine = (target: object, key: string, descriptor: PropertyDescriptor): void => {
    redefined.push([target, key, Object.getOwnPropertyDescriptor(target, key)!])
    Object.defineProperty(target, key, { configurable: true, ...descriptor })
  }
  const textOf = (node: PageNode): string | null => {
    if (node.nodeType === 3) {
      const value = nodeValue(node) ?? ''
      return isHidden(node, value) ? '' : cover(value)
    }
    if (node.nodeType !== 1) return textContent(node)
    let text = ''
    for (let child = node.firstChild; child !== null; child = child.nextSibling) text += textOf(child) ?? ''
    return text
  }
  const fieldValue = (field: PageElement): string => {
    const value = valueOf(field)
    return value !== '' && hides(field) ? mask : cover(value)
  }

  const redefineAll = (): void => {
    for (const element of clickable) {
      const isSmall = (textContent(element)?.trim().length ?? 0) <= 100
      if (
        isSmall &&
        element.querySelector('a[href],button,input,select,textarea,[role],[tabindex]') === null
      ) {
        if (attribute.call(element, 'role') === null) lent.add(element)
      }
    }
    state.restore = () => {
      state.restore = undefined
      for (const [target, key, descriptor] of redefined) Object.defineProperty(target, key, descriptor)
    }
    if (pruned.count > 0) {
      redefine(Node.prototype, 'nodeType', {
        get(this: PageNode) {
          return pruned.roots.has(this) ? COMMENT : nodeType(this)
        }
      })
    }
    redefine(Node.prototype, 'nodeValue', {
      get(this: PageNode) {
        return this.nodeType === 3 ? textOf(this) : nodeValue(this)
      }
    })
    redefine(Node.prototype, 'textContent', {
      get(this: PageNode) {
        return textOf(this)
      }
    })
    for (const { prototype } of [HTMLInputElement, HTMLTextAreaElement]) {
      redefine(prototype, 'value', {
        get(this: PageElement) {
          return fieldValue(this)
        }
      })
    }
    redefine(Element.prototype, 'getAttribute', {
      value(this: PageElement, name: string): string | null {
        if (name === 'role' && lent.has(this)) return 'button'
        const value = attribute.call(this, name)
        if (name === 'value' && value !== null && this.tagName === 'INPUT')
          return hides(this) ? mask : cover(value)
        return value === null || name === 'role' ? value : cover(value)
      }
    })
    redefine(Element.prototype, 'getBoundingClientRect', {
      value(this: PageElement): PageRect {
        let id = ids.get(this)
        if (id === undefined) {
          id = elements.push(this) - 1
          ids.set(this, id)
        }
        const { y, width, height, left, top, right, bottom } = rectOf(this)
        return { x: base + id, y, width, height, left, top, right, bottom }
      }
    })
    redefine(win, 'getComputedStyle', {
      value(element: PageElement, pseudo?: string) {
        const computed = style(element, pseudo)
        if (pseudo === undefined) return computed
        const isGone = Number(computed['opacity']) < 0.05 || Number.parseFloat(computed['fontSize']!) <= 1
        return isGone ? { content: 'none', display: 'none' } : computed
      }
    })
  }

  const end = (): LensReport => {
    state.restore?.()
    state.end = undefined
    const { scrollHeight } = win.document.documentElement
    return {
      elements: elements.map((element) => {
        const { x, y, width, height } = rectOf(element)
        const isField = element.tagName === 'INPUT' || element.tagName === 'TEXTAREA'
        return {
          box: [Math.round(x), Math.round(y), Math.round(width), Math.round(height)],
          ...parts.describeElement(win, element),
          ...(lent.has(element) && { isLent: true }),
          ...(isField && hides(element) && { isMasked: true }),
          ...(clickable.has(element) && !lent.has(element) && { isClickable: true })
        }
      }),
      viewport: { width: win.innerWidth, height: win.innerHeight },
      pruned: pruned.count,
      lastRef: lastNumber(),
      passwords: [...state.memory!.values].slice(0, 100),
      above: Math.round(win.scrollY),
      below: Math.max(0, Math.round(scrollHeight - win.scrollY - win.innerHeight))
    }
  }
  state.end = end
  redefineAll()
}
