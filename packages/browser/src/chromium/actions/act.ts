import { isExposed } from '@svc/contract'
import { unlessAborted } from '@svc/runtime/loop'
import type { ElementHandle, Page } from 'playwright-core'
import { LATE, withinTime, type HostPolicy, type Spot } from '../../browser.ts'
import {
  RUN_ERR_BROWSER_ACTION_FAILED,
  RUN_ERR_BROWSER_CRASHED,
  RUN_ERR_BROWSER_STALE_REF
} from '../../errors.ts'
import { findElement, findHandle, HandleElement, type Found } from './find-element.ts'
import type { PageElement } from './page-dom.ts'
import { PageWatch } from './page-watch.ts'

/** One action while it is performed. */
export class Act {
  readonly desk: ActingDesk
  /** Aborts with the caller's reason, or with a `TimeoutError` when the action takes too long. */
  readonly signal: AbortSignal
  /** What was acted on last, for the text of an error. */
  subject: { readonly spot: Spot; readonly element: Found } | undefined
  /** Milliseconds in which the page is expected to react; 0: it need not. */
  reaction = 0
  #watch: PageWatch

  constructor(desk: ActingDesk, page: Page, signal: AbortSignal) {
    this.desk = desk
    this.signal = signal
    this.#watch = new PageWatch(page, desk.hosts)
  }

  /** The tab it acts on. */
  get page(): Page {
    return this.#watch.page
  }

  /** What happens in that tab. */
  get watch(): PageWatch {
    return this.#watch
  }

  /** For calls of Playwright that take a signal. It is their only limit: time-outs of their own are off. */
  get limits(): { signal: AbortSignal; timeout: 0 } {
    return { signal: this.signal, timeout: 0 }
  }

  /** One step of the action, which the signal interrupts. @throws the reason of `signal` */
  async step<T>(work: () => T): Promise<Awaited<T>> {
    return unlessAborted(this.signal, work)
  }

  /** The element at a spot. @throws RUN_ERR_BROWSER_STALE_REF, RUN_ERR_BROWSER_ACTION_FAILED */
  async find(spot: Spot): Promise<Found> {
    const element = await this.step(() => findElement(this.page, spot))
    this.subject = { spot, element }
    return element
  }

  /** The same as a handle, for steps to elements around it: more costly. @throws as `find` */
  async findHandle(spot: Spot): Promise<ElementHandle> {
    const handle = await this.step(() => findHandle(this.page, spot))
    this.subject = { spot, element: new HandleElement(handle) }
    return handle
  }

  /** Moves the action to a new tab. @throws RUN_ERR_BROWSER_ACTION_FAILED at the limit of tabs */
  async useNewTab(): Promise<void> {
    const page = await this.step(() => this.desk.tabs.open())
    this.#watch.close()
    this.#watch = new PageWatch(page, this.desk.hosts)
  }

  /** @throws RUN_ERR_BROWSER_ACTION_FAILED with a reason for the model */
  fail(reason: string): never {
    throw new RUN_ERR_BROWSER_ACTION_FAILED(reason)
  }
}

/** What actions need of a desk. It aborts the signal of an action once a dialog blocks the page. */
export interface ActingDesk {
  readonly tabs: {
    /** The tab that actions apply to. */
    readonly current: Page | undefined
    readonly all: readonly Page[]
    /** True if there is a current tab, and the browser still knows it. */
    isCurrentOpen(): Promise<boolean>
    /** Opens an empty tab, which becomes the current one. @throws RUN_ERR_BROWSER_ACTION_FAILED at the limit of tabs */
    open(): Promise<Page>
    /** Makes a tab the current one. @throws RUN_ERR_BROWSER_ACTION_FAILED if it does not exist */
    select(index: number): Promise<void>
    /** Closes a tab; an empty one takes the place of the last. @throws RUN_ERR_BROWSER_ACTION_FAILED if it does not exist */
    close(index: number): Promise<void>
  }
  readonly dialogs: {
    /** Answers the dialog of a page; false if it has none. */
    answer(page: Page, accept: boolean, text?: string): Promise<boolean>
  }
  readonly hosts: HostPolicy
  /** Milliseconds: of one action, and until a page that is opened has loaded. */
  readonly timeout: { readonly action: number; readonly navigation: number }
  /** Adds a notice for the model to the outcome of the action. */
  notice(text: string): void
}

// Milliseconds in which a page says what is in the way.
const ANSWER = 500

/** The error of an action for the model: short, and without what Playwright logs. `ms` is the time-out of the action. */
export async function explain(err: unknown, { signal, subject }: Act, ms: number): Promise<unknown> {
  if (isExposed(err)) return err
  const message = err instanceof Error ? err.message : ''
  if (/crashed/i.test(message)) return new RUN_ERR_BROWSER_CRASHED()
  if (/not attached|not connected/i.test(message)) return new RUN_ERR_BROWSER_STALE_REF(nameOf(subject?.spot))
  if (/context was destroyed|Frame was detached|uniqueContextId not found|cannot find context/i.test(message))
    return failure('the page changed meanwhile; look again')
  if (saysClosed(err)) return failure('the tab was closed')
  if (!signal.aborted) return failure('the browser could not do this here')
  const obstacle = subject === undefined ? undefined : await ask(subject.element)
  if (obstacle === DETACHED) return new RUN_ERR_BROWSER_STALE_REF(nameOf(subject?.spot))
  return failure(obstacle ?? `the page did not respond within ${ms} ms`)
}

/** True for the error of a call that the end of its page has interrupted. */
export const saysClosed = (err: unknown): boolean =>
  err instanceof Error && /has been closed/i.test(err.message)

const DETACHED = 'detached'

const failure = (reason: string) => new RUN_ERR_BROWSER_ACTION_FAILED(reason)

const nameOf = (spot: Spot | undefined) => {
  if (spot === undefined) return ''
  return 'ref' in spot ? spot.ref : `at ${spot.x},${spot.y}`
}

// Undefined if the page is too busy to answer.
async function ask(element: Found): Promise<string | undefined> {
  const asked = element
    .evaluate(obstacleOf)
    .catch((err: unknown) => (err instanceof RUN_ERR_BROWSER_STALE_REF ? DETACHED : undefined))
  const answer = await withinTime(asked, ANSWER)
  return answer === LATE ? undefined : answer
}

// Runs in the page: why an element cannot be acted on.
function obstacleOf(element: PageElement): string {
  if (!element.isConnected) return 'detached'
  if (element.tagName === 'OPTION') return 'it is an option; use the select action on its list'
  const { width, height, x, y } = element.getBoundingClientRect()
  if (!element.checkVisibility({ visibilityProperty: true }) || width === 0 || height === 0)
    return 'the element is hidden'
  if (element.matches(':disabled') || element.closest('[aria-disabled=true]') !== null)
    return 'the element is disabled'
  if (element.matches('[readonly], [aria-readonly=true]')) return 'the element is read-only'
  if (element.closest('[inert]') !== null) return 'the element is inert, as a dialog is open perhaps'
  const root = element.getRootNode()
  const top = root.elementFromPoint(x + width / 2, y + height / 2)
  if (top === null) return 'the element is outside of the viewport, and cannot be scrolled into it'
  if (element.contains(top) || top.contains(element)) return 'the element moves, or does not react'
  const role = top.closest('[role]')?.getAttribute('role') ?? top.tagName.toLowerCase()
  const name = (top.innerText ?? '').replace(/\s+/g, ' ').trim()
  const start = name.length > 40 ? `${name.slice(0, 39)}…` : name
  return `the element is covered by another one: ${role.slice(0, 20)}${name === '' ? '' : ` ${JSON.stringify(start)}`}`
}
