/** The parts of the DOM that the scripts in pages use: the compiler has no DOM types here. */
export interface PageNode {
  readonly nodeType: number
  readonly nodeName: string
  readonly nodeValue: string | null
  readonly textContent: string | null
  readonly firstChild: PageNode | null
  readonly nextSibling: PageNode | null
  readonly childNodes: { readonly length: number }
  readonly parentNode: PageNode | null
  readonly ownerDocument: PageDocument
}

/** An element; fields of inputs are undefined on others. */
export interface PageElement extends PageNode {
  readonly tagName: string
  readonly isConnected: boolean
  readonly id: string
  readonly parentElement: PageElement | null
  readonly shadowRoot: PageNode | null
  readonly assignedSlot: PageElement | null
  readonly host?: PageElement
  readonly type?: string
  readonly autocomplete?: string
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly files?: ArrayLike<{ readonly name: string }> | null
  readonly value?: unknown
  readonly open?: boolean
  readonly isContentEditable?: boolean
  readonly draggable?: boolean
  readonly scrollTop: number
  readonly scrollLeft: number
  readonly scrollWidth: number
  readonly scrollHeight: number
  readonly clientWidth: number
  readonly clientHeight: number
  getAttribute(name: string): string | null
  hasAttribute(name: string): boolean
  matches(selector: string): boolean
  closest(selector: string): PageElement | null
  contains(other: PageNode | null): boolean
  querySelector(selector: string): PageElement | null
  querySelectorAll(selector: string): Iterable<PageElement>
  getBoundingClientRect(): PageRect
  checkVisibility(): boolean
}

/** A rectangle as `getBoundingClientRect` returns it. */
export interface PageRect {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

/** Computed styles by property, as `CSSStyleDeclaration` has them. */
export type PageStyle = Readonly<Record<string, string>>

/** The document of a page or frame. */
export interface PageDocument {
  readonly documentElement: PageElement
  readonly body: PageElement | null
  readonly scrollingElement: PageElement | null
  getElementById(id: string): PageElement | null
  createRange(): {
    selectNodeContents(node: PageNode): void
    getBoundingClientRect(): PageRect
  }
  elementsFromPoint(x: number, y: number): PageElement[]
  querySelectorAll(selector: string): Iterable<PageElement>
}

/** The global object of a page's isolated world. */
export interface PageWindow {
  readonly document: PageDocument
  readonly innerWidth: number
  readonly innerHeight: number
  readonly scrollX: number
  readonly scrollY: number
  getComputedStyle(element: PageElement, pseudo?: string): PageStyle
  readonly Node: { readonly prototype: object }
  readonly Element: { readonly prototype: object }
  readonly HTMLInputElement: { readonly prototype: object }
  readonly HTMLTextAreaElement: { readonly prototype: object }
  readonly MutationObserver: new (callback: () => void) => {
    observe(target: PageNode, options: Readonly<Record<string, unknown>>): void
  }
}
