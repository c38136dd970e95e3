/* oxlint-disable unicorn/consistent-function-scoping -- runs in a page, where nothing outside of the function exists */
import type { findClickables } from './clickable.ts'
import type { PageElement, PageNode, PageRect, PageWindow } from './dom.ts'
import type { describeElement } from './describe-element.ts'
import type { createHiddenText } from './hidden-text.ts'
import type { Listening } from './listening.ts'
import type { createMask, MaskMemory } from './mask.ts'
import type { numberRefs } from './number-refs.ts'
import type { pruneFar, Pruned } from './prune.ts'

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

/** What the world of a document has of its lens. */
export interface LensState {
  /** Puts the lens on; undefined until it is installed. */
  begin?: (options: LensOptions) => void
  /** Takes it off; undefined if it is not on. */
  end?: () => LensReport | undefined
  /** The element of a ref of an earlier look. */
  find?: (ref: string) => PageElement | undefined
}

/** What a lens is given from outside of the page. */
export interface LensOptions {
  /** The first id. */
  readonly base: number
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

/** What a lens that is on remembers until it is taken off. */
interface Sight {
  readonly base: number
  readonly hides: (field: PageElement) => boolean
  readonly cover: (text: string) => string
  readonly isHidden: (text: PageNode, value: string) => boolean
  readonly clickable: ReadonlySet<PageElement>
  /** Elements that the lens gives a role. */
  readonly lent: ReadonlySet<PageElement>
  readonly pruned: Pruned
  readonly elements: PageElement[]
  readonly ids: Map<PageElement, number>
}

/**
 * Runs in the isolated world of a page, which the page's own scripts neither see nor reach. A lens changes what the DOM
 * of that world answers while Playwright takes its snapshot there: hidden text is empty, secrets are masked, elements
 * that react to clicks have a role. The document itself does not change. Instead of `x` of its box, the snapshot has the
 * id of an element, by which the report is joined to it. It is installed once: what is redefined for each look would be
 * compiled for each look, and all that uses it.
 */
export function installLens(win: PageWindow, state: LensState, parts: LensParts, mask: string): void {
  if (state.begin !== undefined) return
  const COMMENT = 8
  const { Node, Element, HTMLInputElement, HTMLTextAreaElement } = win
  const originalOf = (target: object, key: string) => Object.getOwnPropertyDescriptor(target, key)!
  const getter = (prototype: object, key: string) => {
    const { get } = originalOf(prototype, key)
    return (target: object): unknown => get!.call(target)
  }
  const rect = (Element.prototype as PageElement).getBoundingClientRect
  const rectOf = (element: PageElement): PageRect => rect.call(element)
  const attribute = (Element.prototype as PageElement).getAttribute
  const inputValue = getter(HTMLInputElement.prototype, 'value')
  const areaValue = getter(HTMLTextAreaElement.prototype, 'value')
  const valueOf = (field: PageElement): string =>
    String(field.tagName === 'TEXTAREA' ? areaValue(field) : inputValue(field))
  const nodeValue = getter(Node.prototype, 'nodeValue') as (node: object) => string | null
  const nodeType = originalOf(Node.prototype, 'nodeType')
  const textContent = getter(Node.prototype, 'textContent') as (node: object) => string | null
  const style = win.getComputedStyle.bind(win)

  const memory: MaskMemory = { fields: new WeakSet(), values: new Set() }
  const refs = parts.numberRefs(win)
  let sight: Sight | undefined

  const textOf = (node: PageNode, { isHidden, cover }: Sight): string | null => {
    if (node.nodeType === 3) {
      const value = nodeValue(node) ?? ''
      return isHidden(node, value) ? '' : cover(value)
    }
    if (node.nodeType !== 1) return textContent(node)
    let text = ''
    for (let child = node.firstChild; child !== null; child = child.nextSibling)
      text += textOf(child, sight!) ?? ''
    return text
  }
  const idOf = (element: PageElement, { base, elements, ids }: Sight): number => {
    let id = ids.get(element)
    if (id === undefined) {
      id = elements.push(element) - 1
      ids.set(element, id)
    }
    return base + id
  }
  const redefine = (target: object, key: string, descriptor: PropertyDescriptor): void => {
    Object.defineProperty(target, key, { ...Object.getOwnPropertyDescriptor(target, key), ...descriptor })
  }
  redefine(Node.prototype, 'nodeValue', {
    get(this: PageNode) {
      return sight !== undefined && this.nodeType === 3 ? textOf(this, sight) : nodeValue(this)
    }
  })
  redefine(Node.prototype, 'textContent', {
    get(this: PageNode) {
      return sight === undefined ? textContent(this) : textOf(this, sight)
    }
  })
  for (const { prototype } of [HTMLInputElement, HTMLTextAreaElement]) {
    redefine(prototype, 'value', {
      get(this: PageElement) {
        const value = valueOf(this)
        if (sight === undefined) return value
        return value !== '' && sight.hides(this) ? mask : sight.cover(value)
      }
    })
  }
  const attributeOf = (element: PageElement, name: string, { lent, hides, cover }: Sight): string | null => {
    const value = attribute.call(element, name)
    if (name === 'role') return lent.has(element) ? 'button' : value
    if (value === null) return null
    return name === 'value' && element.tagName === 'INPUT' && hides(element) ? mask : cover(value)
  }
  const redefined = new WeakSet()
  // Of single elements where that will do: a snapshot asks for hundreds of attributes.
  const redefineAttributes = (owner: object): void => {
    if (redefined.has(owner)) return
    redefined.add(owner)
    redefine(owner, 'getAttribute', {
      configurable: true,
      value(this: PageElement, name: string): string | null {
        return sight === undefined ? attribute.call(this, name) : attributeOf(this, name, sight)
      }
    })
  }
  redefine(Element.prototype, 'getBoundingClientRect', {
    value(this: PageElement): PageRect {
      const box = rectOf(this) as { -readonly [K in keyof PageRect]: PageRect[K] }
      if (sight !== undefined) box.x = idOf(this, sight)
      return box
    }
  })
  redefine(win, 'getComputedStyle', {
    value(element: PageElement, pseudo?: string) {
      const computed = style(element, pseudo)
      if (sight === undefined || pseudo === undefined) return computed
      if (computed['content'] === 'none' || computed['content'] === 'normal') return computed
      const isGone = Number(computed['opacity']) < 0.05 || Number.parseFloat(computed['fontSize']!) <= 1
      return isGone ? { content: 'none', display: 'none' } : computed
    }
  })

  const lend = (clickable: ReadonlySet<PageElement>): Set<PageElement> => {
    const widgets = 'a[href],button,input,select,textarea,[role],[tabindex]'
    return new Set(
      [...clickable].filter(
        (element) =>
          (textContent(element)?.trim().length ?? 0) <= 100 &&
          element.querySelector(widgets) === null &&
          attribute.call(element, 'role') === null
      )
    )
  }
  const maskSecrets = () => {
    const found = parts.createMask(win, memory, mask, valueOf)
    if (found.hasSecrets) redefineAttributes(Element.prototype)
    return found
  }
  // A field that shows its value between two looks is remembered, too.
  new win.MutationObserver(() => void maskSecrets()).observe(win.document as unknown as PageNode, {
    attributes: true,
    attributeFilter: ['type', 'autocomplete'],
    subtree: true
  })
  // Only where something is pruned: types of nodes are what a snapshot asks for most, and what is redefined makes the engine
  // drop all compiled code that uses it.
  let isPruning = false
  const pruneTypes = ({ roots, count }: Pruned): void => {
    if (count === 0 && !isPruning) return
    isPruning = count > 0
    const get = function (this: PageNode) {
      return roots.has(this) ? COMMENT : nodeType.get!.call(this)
    }
    Object.defineProperty(Node.prototype, 'nodeType', isPruning ? { ...nodeType, get } : nodeType)
  }

  const begin = ({ base, listening, maxElements, lastRef }: LensOptions): void => {
    // A look may have been interrupted.
    sight = undefined
    pruneTypes({ roots: new Set(), count: 0 })
    const { hides, cover } = maskSecrets()
    const clickable = parts.findClickables(win, rectOf, listening)
    const lent = lend(clickable)
    for (const element of lent) redefineAttributes(element)
    const pruned = parts.pruneFar(win, rectOf, maxElements)
    const next: Sight = {
      base,
      hides,
      cover,
      isHidden: parts.createHiddenText(win, rectOf),
      clickable,
      lent,
      pruned,
      elements: [],
      ids: new Map()
    }
    pruneTypes(pruned)
    refs.last = Math.max(refs.last, lastRef)
    sight = next
  }

  const factsOf = (element: PageElement, { lent, hides, clickable }: Sight): ElementFacts => {
    const { x, y, width, height } = rectOf(element)
    const isField = element.tagName === 'INPUT' || element.tagName === 'TEXTAREA'
    return {
      box: [Math.round(x), Math.round(y), Math.round(width), Math.round(height)],
      ...parts.describeElement(win, element),
      ...(lent.has(element) && { isLent: true }),
      ...(isField && hides(element) && { isMasked: true }),
      ...(clickable.has(element) && !lent.has(element) && { isClickable: true })
    }
  }

  const end = (): LensReport | undefined => {
    const last = sight
    if (last === undefined) return undefined
    sight = undefined
    pruneTypes({ roots: new Set(), count: 0 })
    const { scrollHeight } = win.document.documentElement
    return {
      elements: last.elements.map((element) => factsOf(element, last)),
      viewport: { width: win.innerWidth, height: win.innerHeight },
      pruned: last.pruned.count,
      lastRef: refs.last,
      passwords: [...memory.values].slice(0, 100),
      above: Math.round(win.scrollY),
      below: Math.max(0, Math.round(scrollHeight - win.scrollY - win.innerHeight))
    }
  }
  Object.assign(state, { begin, end, find: refs.find })
}
