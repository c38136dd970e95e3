import type { ElementHandle, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import { unlessAborted } from '@svc/runtime/loop'
import type { Spot } from '../../desk-action.ts'
import type { ActingDesk } from './acting-desk.ts'
import { findElement, findHandle } from './find-element.ts'
import { type Found, HandleElement } from './found.ts'
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
