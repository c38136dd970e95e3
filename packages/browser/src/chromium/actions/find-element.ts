import { unlessAborted } from '@svc/runtime/loop'
import type { ElementHandle, Locator, Page } from 'playwright-core'
import { LATE, withinTime, type Spot, type Target } from '../../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_STALE_REF } from '../../errors.ts'
import { inspect } from '../../look/page-lens.ts'
import type { PageDocument, PageElement, PageRoot } from './page-dom.ts'

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
class RefElement implements Found {
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

/**
 * The element at a spot, at once: it does not wait for one.
 * @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED for a point outside of the viewport
 */
export async function findElement(page: Page, spot: Spot): Promise<Found> {
  if (!('ref' in spot)) return new HandleElement(await findAtPoint(page, spot))
  if ((await locate(page, spot.ref, (locator) => locator.count())) === 0)
    throw new RUN_ERR_BROWSER_STALE_REF(spot.ref)
  return new RefElement(page, spot.ref)
}

/** The same as a handle of Playwright's. @throws as `findElement` */
export async function findHandle(page: Page, spot: Spot): Promise<ElementHandle> {
  if (!('ref' in spot)) return findAtPoint(page, spot)
  const [handle] = await locate(page, spot.ref, (locator) => locator.elementHandles())
  if (handle === undefined) throw new RUN_ERR_BROWSER_STALE_REF(spot.ref)
  return handle
}

async function locate<T>(page: Page, ref: string, work: (locator: Locator) => Promise<T>): Promise<T> {
  // Anything else would be a selector of Playwright's.
  if (!/^(?:f\d+)?e\d+$/.test(ref)) throw new RUN_ERR_BROWSER_STALE_REF(ref.slice(0, 20))
  try {
    return await work(page.getByRef(ref))
  } catch (err) {
    // Playwright rejects the ref of a frame that is gone as a bad selector.
    if (err instanceof Error && err.message.includes('Invalid frame'))
      throw new RUN_ERR_BROWSER_STALE_REF(ref)
    throw err
  }
}

async function findAtPoint(page: Page, at: { x: number; y: number }): Promise<ElementHandle> {
  requirePoint(page, at)
  let frame = page.mainFrame()
  let point = at
  for (;;) {
    const found = (await frame.evaluateHandle(deepestAt, point)).asElement() as ElementHandle | null
    if (found === null) throw new RUN_ERR_BROWSER_ACTION_FAILED(`nothing is at ${at.x},${at.y}`)
    const inner = await found.contentFrame()
    if (inner === null) return found
    const { x, y } = await found.evaluate(contentOrigin)
    point = { x: point.x - x, y: point.y - y }
    frame = inner
  }
}

/** @throws RUN_ERR_BROWSER_ACTION_FAILED for a point outside of the viewport */
export function requirePoint(page: Page, { x, y }: { x: number; y: number }): void {
  const size = page.viewportSize()
  const isInside = size === null || (x >= 0 && y >= 0 && x < size.width && y < size.height)
  if (isInside && Number.isFinite(x) && Number.isFinite(y)) return
  const area = size === null ? '' : `, which is ${size.width} wide and ${size.height} high`
  throw new RUN_ERR_BROWSER_ACTION_FAILED(`${x},${y} is outside of the viewport${area}`)
}

// Runs in the page: the innermost element at a point, also in open shadow roots.
function deepestAt({ x, y }: { x: number; y: number }): PageElement | null {
  const { document } = globalThis as unknown as { document: PageDocument }
  let element = document.elementFromPoint(x, y)
  for (;;) {
    const inner = element?.shadowRoot?.elementFromPoint(x, y) ?? null
    if (inner === null || inner === element) return element
    element = inner
  }
}

// Runs in the page: where the content of a frame begins, in the coordinates of its parent.
function contentOrigin(frame: PageElement): { x: number; y: number } {
  const { x, y } = frame.getBoundingClientRect()
  const style = frame.ownerDocument.defaultView!.getComputedStyle(frame)
  return {
    x: x + frame.clientLeft + Number.parseFloat(style.paddingLeft),
    y: y + frame.clientTop + Number.parseFloat(style.paddingTop)
  }
}

/** Runs in the page: the facts of the element that a click on `spot` reaches, e.g. of the button around an icon. */
function readTarget(spot: PageElement): Omit<Target, 'frameUrl'> {
  const MAX = 200
  const cut = (text: string) => (text.length > MAX ? `${text.slice(0, MAX - 1)}…` : text)
  const plain = (text: string | null | undefined) => cut((text ?? '').replace(/\s+/g, ' ').trim())
  // Names of fields hide the members of their form: a field named "action" is form.action.
  const { getAttribute } = spot.ownerDocument.documentElement
  const attribute = (element: PageElement, name: string) => getAttribute.call(element, name)
  const resolve = (url: string) => URL.parse(url, spot.baseURI)?.href ?? url

  function closest(selector: string): PageElement | null {
    for (let from: PageElement | undefined = spot; from !== undefined; from = from.getRootNode().host) {
      const found = from.closest(selector)
      if (found !== null) return found
    }
    return null
  }

  const ACTORS =
    'a[href], area[href], button, input, select, textarea, option, summary, label, [contenteditable], [role]'
  const nearest = closest(ACTORS) ?? spot
  const actor = nearest.tagName === 'LABEL' ? (nearest.control ?? nearest) : nearest
  const tag = actor.tagName.toLowerCase()
  const type = tag === 'input' || tag === 'button' ? (actor.type ?? '') : undefined

  const ROLES: Record<string, string> = {
    a: 'link',
    area: 'link',
    button: 'button',
    select: 'combobox',
    textarea: 'textbox',
    option: 'option',
    summary: 'button',
    img: 'img',
    h1: 'heading',
    h2: 'heading',
    h3: 'heading',
    input: 'textbox'
  }
  const INPUT_ROLES: Record<string, string> = {
    button: 'button',
    submit: 'button',
    reset: 'button',
    image: 'button',
    file: 'button',
    checkbox: 'checkbox',
    radio: 'radio',
    range: 'slider',
    number: 'spinbutton',
    search: 'searchbox'
  }
  const role =
    attribute(actor, 'role') ?? (tag === 'input' ? INPUT_ROLES[type ?? ''] : undefined) ?? ROLES[tag] ?? ''

  function nameOf(element: PageElement): string {
    const root: PageRoot = element.getRootNode()
    const ids = attribute(element, 'aria-labelledby')?.split(/\s+/) ?? []
    const labels = ids.map((id) => root.getElementById(id)?.textContent).join(' ')
    const isButton = /^(?:button|submit|reset)$/.test(type ?? '') && tag === 'input'
    const isField = /^(?:input|select|textarea)$/.test(tag)
    const names = [
      labels,
      attribute(element, 'aria-label'),
      ...Array.from(element.labels ?? [], (label) => label.textContent),
      isButton ? element.value : '',
      attribute(element, 'alt'),
      isField ? '' : element.innerText,
      element.querySelector('img[alt]')?.getAttribute('alt'),
      attribute(element, 'title'),
      attribute(element, 'placeholder')
    ]
    return names.map(plain).find((name) => name !== '') ?? ''
  }

  const form = actor.form ?? null
  const submits = form !== null && (type === 'submit' || type === 'image')
  const own = (name: string) => (submits ? attribute(actor, `form${name}`) : null)
  const method = form === null ? '' : (own('method') ?? attribute(form, 'method') ?? '').toLowerCase()
  const link = closest('a[href], area[href]')
  return {
    tag,
    role: plain(role),
    name: nameOf(actor),
    ...(type !== undefined && { type: plain(type) }),
    ...(submits && { submits }),
    ...(form !== null && {
      form: {
        method: method === 'post' || method === 'dialog' ? method : 'get',
        action: resolve(own('action') ?? attribute(form, 'action') ?? '')
      }
    }),
    ...(link !== null && {
      href: resolve(attribute(link, 'href') ?? ''),
      isDownload: attribute(link, 'download') !== null
    })
  }
}

/**
 * The facts that decide what an action on an element is. `timeout`: milliseconds.
 * @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED, the reason of the signal
 */
export async function describeTarget(
  page: Page,
  spot: Spot,
  { timeout, signal }: { timeout: number; signal: AbortSignal }
): Promise<Target> {
  const target = await unlessAborted(signal, () => withinTime(readTargetAt(page, spot), timeout))
  if (target !== LATE) return target
  throw new RUN_ERR_BROWSER_ACTION_FAILED(`the page did not respond within ${timeout} ms`)
}

async function readTargetAt(page: Page, spot: Spot): Promise<Target> {
  const element = await findElement(page, spot)
  const [frameUrl, facts] = await Promise.all([element.frameUrl(), element.evaluate(readTarget)])
  return { frameUrl, ...facts }
}
