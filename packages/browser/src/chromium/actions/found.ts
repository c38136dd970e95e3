import type { ElementHandle, Locator, Page } from 'playwright-core'
import { inspect } from '../../look/inspect.ts'
import type { PageElement } from './page-dom.ts'

/** Options of what Playwright does to an element. */
type ActOptions = NonNullable<Parameters<ElementHandle['hover']>[0]>
type ClickOptions = NonNullable<Parameters<ElementHandle['click']>[0]>

/** An element that an action has found. */
export interface Found {
  /** Calls a function with it in the page; argument and result must be JSON. */
  evaluate<A, R>(read: (element: PageElement, argument: A) => R, argument?: A): Promise<R>
  /** The URL of the frame it is in, which no script of the page can make up. */
  frameUrl(): Promise<string>
  click(options: ClickOptions): Promise<void>
  hover(options: ActOptions): Promise<void>
  focus(): Promise<void>
  fill(value: string, options: ActOptions): Promise<void>
  /** Selects the text of a field, which gets the focus. */
  selectText(options: ActOptions): Promise<void>
  /** Selects the options of a list by their places. */
  selectOptions(indexes: readonly number[], options: ActOptions): Promise<void>
}

/**
 * An element by its ref. All that is done to it stays in the page's isolated world; a handle of Playwright's would be brought to the
 * world of the page's own scripts and back for each step, which costs as much as the action.
 */
export class RefElement implements Found {
  readonly #page: Page
  readonly #ref: string
  readonly #locator: Locator

  constructor(page: Page, ref: string) {
    this.#page = page
    this.#ref = ref
    this.#locator = page.getByRef(ref)
  }

  /** @throws RUN_ERR_BROWSER_STALE_REF */
  evaluate<A, R>(read: (element: PageElement, argument: A) => R, argument?: A): Promise<R> {
    return inspect(this.#page, this.#ref, read, argument)
  }

  frameUrl(): Promise<string> {
    return this.evaluate(() => (globalThis as unknown as { location: { href: string } }).location.href)
  }

  click(options: ClickOptions): Promise<void> {
    return this.#locator.click(options)
  }

  hover(options: ActOptions): Promise<void> {
    return this.#locator.hover(options)
  }

  focus(): Promise<void> {
    return this.#locator.focus()
  }

  fill(value: string, options: ActOptions): Promise<void> {
    return this.#locator.fill(value, options)
  }

  async selectText(options: ActOptions): Promise<void> {
    if (await this.evaluate(selectAll)) return
    await this.#locator.waitFor({ state: 'visible', ...options })
    await this.evaluate(selectAll)
  }

  async selectOptions(indexes: readonly number[], options: ActOptions): Promise<void> {
    await this.#locator.selectOption(toOptions(indexes), options)
  }
}

/** An element that has no ref of its own, e.g. the one at a point. */
export class HandleElement implements Found {
  readonly #handle: ElementHandle

  constructor(handle: ElementHandle) {
    this.#handle = handle
  }

  evaluate<A, R>(read: (element: PageElement, argument: A) => R, argument?: A): Promise<R> {
    return this.#handle.evaluate(read as never, argument as never)
  }

  async frameUrl(): Promise<string> {
    const frame = await this.#handle.ownerFrame()
    return frame?.url() ?? ''
  }

  click(options: ClickOptions): Promise<void> {
    return this.#handle.click(options)
  }

  hover(options: ActOptions): Promise<void> {
    return this.#handle.hover(options)
  }

  focus(): Promise<void> {
    return this.#handle.focus()
  }

  fill(value: string, options: ActOptions): Promise<void> {
    return this.#handle.fill(value, options)
  }

  selectText(options: ActOptions): Promise<void> {
    return this.#handle.selectText(options)
  }

  async selectOptions(indexes: readonly number[], options: ActOptions): Promise<void> {
    await this.#handle.selectOption(toOptions(indexes), options)
  }
}

// Runs in the page. False if the field is not visible, as Playwright understands it: then it does nothing.
function selectAll(field: PageElement): boolean {
  const { width, height } = field.getBoundingClientRect()
  if (width === 0 || height === 0 || !field.checkVisibility({ visibilityProperty: true })) return false
  if (field.tagName === 'INPUT' || field.tagName === 'TEXTAREA') {
    field.select()
    field.focus()
    return true
  }
  let host = field
  while (host.parentElement?.isContentEditable) host = host.parentElement
  host.focus()
  field.ownerDocument.defaultView!.getSelection()?.selectAllChildren(field)
  return true
}

const toOptions = (indexes: readonly number[]) => indexes.map((index) => ({ index }))
