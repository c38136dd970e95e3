// Functions that run in a page see its DOM, which the types of Node.js lack: these are the members they use.

export interface PageElement {
  readonly nodeType: number
  readonly tagName: string
  readonly isConnected: boolean
  readonly isContentEditable?: boolean
  readonly parentElement: PageElement | null
  readonly assignedSlot: PageElement | null
  readonly shadowRoot: PageRoot | null
  readonly ownerDocument: PageDocument
  readonly baseURI: string
  readonly textContent: string | null
  readonly innerText?: string
  readonly control?: PageElement | null
  readonly labels?: ArrayLike<PageElement> | null
  readonly form?: PageElement | null
  readonly type?: string
  readonly multiple?: boolean
  readonly maxLength?: number
  readonly options?: ArrayLike<PageOption>
  readonly scrollTop: number
  readonly scrollLeft: number
  readonly scrollHeight: number
  readonly scrollWidth: number
  readonly clientHeight: number
  readonly clientWidth: number
  readonly clientTop: number
  readonly clientLeft: number
  value?: string
  matches(selector: string): boolean
  closest(selector: string): PageElement | null
  contains(other: PageElement): boolean
  querySelector(selector: string): PageElement | null
  querySelectorAll(selector: string): ArrayLike<PageElement>
  getAttribute(name: string): string | null
  getRootNode(): PageRoot
  getBoundingClientRect(): { x: number; y: number; width: number; height: number }
  focus(): void
  select(): void
  dispatchEvent(event: object): void
  checkVisibility(options?: { visibilityProperty?: boolean; opacityProperty?: boolean }): boolean
  scrollBy(options: { top: number; left: number; behavior: 'instant' }): void
}

export interface PageOption extends PageElement {
  readonly label: string
  readonly value: string
  readonly disabled: boolean
}

export interface PageRoot {
  readonly host?: PageElement
  readonly activeElement: PageElement | null
  elementFromPoint(x: number, y: number): PageElement | null
  getElementById(id: string): PageElement | null
}

export interface PageDocument extends PageRoot {
  readonly body: PageElement | null
  readonly documentElement: PageElement
  readonly scrollingElement: PageElement | null
  readonly defaultView: PageWindow | null
  addEventListener(name: string, listener: () => void, capture: boolean): void
  removeEventListener(name: string, listener: () => void, capture: boolean): void
  querySelectorAll(selector: string): ArrayLike<PageElement>
}

export interface PageWindow {
  getSelection(): { selectAllChildren(element: PageElement): void } | null
  readonly innerWidth: number
  readonly innerHeight: number
  getComputedStyle(element: PageElement): {
    overflowX: string
    overflowY: string
    paddingTop: string
    paddingLeft: string
  }
}
