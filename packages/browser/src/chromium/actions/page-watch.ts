import type { Frame, Page, Request, Response } from 'playwright-core'
import type { HostPolicy } from '../../browser.ts'
import { unlessAborted } from '@svc/runtime/loop'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import { stopLoading } from '../../page-session.ts'
import { requireHost } from './check-url.ts'
import { navigationError, netErrorCode } from './navigation-error.ts'
import { untilQuiet } from './until-quiet.ts'
import { windowCount } from './window-count.ts'

/** How long a page is awaited, in milliseconds. */
export interface Patience {
  /** Until the next page has begun, and its document is complete. */
  readonly navigation: number
  /** Until its images, styles and frames have loaded too. */
  readonly load: number
  /** Until the page reacts, where it is expected to do so late. Default: it need not react. */
  readonly reaction?: number
}

// What a page shows depends on these; others, such as images and event streams, may load without end.
const AWAITED: ReadonlySet<string> = new Set(['document', 'script', 'stylesheet', 'xhr', 'fetch'])
// How long requests other than navigations are awaited.
const REQUESTS = 1_000
// How long a window that the page asked for is awaited.
const POPUPS = 2_000
// How long the error page of a navigation that failed is awaited.
const ERROR_PAGE = 1_000
const isErrorPage = (url: string) => url.startsWith('chrome-error:')

/** Follows what an action causes in a page: create it before the action, close it once the page has settled. */
export class PageWatch {
  readonly page: Page
  readonly #hosts: HostPolicy
  readonly #requests = new Set<Request>()
  readonly #popups: Page[] = []
  readonly #download = Promise.withResolvers<void>()
  readonly #windows: { readonly value: number }
  readonly #windowsBefore: number
  readonly #off: () => void
  #navigation: Request | undefined
  #onChooser: (() => void) | undefined
  #failure: Error | undefined
  #hasNavigated = false
  #hasErrorPage = false
  #answer: Response | undefined
  #status: number | undefined
  #changed = Promise.withResolvers<void>()

  constructor(page: Page, hosts: HostPolicy) {
    this.page = page
    this.#hosts = hosts
    this.#windows = windowCount(page)
    this.#windowsBefore = this.#windows.value
    const listeners = {
      request: (request: Request) => this.#onRequest(request),
      response: (response: Response) => this.#onResponse(response),
      requestfinished: (request: Request) => this.#onEnd(request),
      requestfailed: (request: Request) => this.#onEnd(request),
      framenavigated: (frame: Frame) => this.#onNavigated(frame),
      download: () => this.#onDownload(),
      popup: (popup: Page) => this.#onPopup(popup)
    }
    const on = page.on.bind(page) as (name: string, listener: unknown) => void
    const off = page.off.bind(page) as typeof on
    subscribe(page, [...Object.keys(listeners), 'filechooser'])
    for (const [name, listener] of Object.entries(listeners)) on(name, listener)
    this.#off = () => Object.entries(listeners).forEach(([name, listener]) => off(name, listener))
  }

  close(): void {
    this.#off()
    if (this.#onChooser !== undefined) this.page.off('filechooser', this.#onChooser)
  }

  /** Calls the listener if the page asks for files, which stays without an answer. */
  onFileChooser(listener: () => void): void {
    this.#onChooser = listener
    this.page.on('filechooser', listener)
  }

  /** True while the tab waits for the answer to a navigation. */
  get isNavigating(): boolean {
    return this.#navigation !== undefined
  }

  /** Why the last navigation failed. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The HTTP status of the page that the action led to. */
  get status(): number | undefined {
    return this.#status
  }

  /**
   * Waits until the page that the action leads to has loaded, and is quiet. False if it is still loading at the end.
   * @throws RUN_ERR_BROWSER_HOST_REFUSED, RUN_ERR_BROWSER_ACTION_FAILED if a navigation failed; the reason of `signal`
   */
  async settle(signal: AbortSignal, { navigation, load, reaction = 0 }: Patience): Promise<boolean> {
    const end = performance.now() + navigation
    let requestsEnd = performance.now() + REQUESTS
    for (let first = reaction; ; first = 0) {
      // A page that is on its way is awaited first: what it leaves need not be quiet.
      if (this.#navigation === undefined && !this.#hasNavigated) await untilQuiet(this.page, signal, first)
      if (this.#failure !== undefined) throw this.#failure
      if (this.#navigation !== undefined || this.#hasNavigated) {
        if (!(await this.#hasLoaded(signal, end, load))) return false
        requestsEnd = performance.now() + REQUESTS
      } else {
        const isBusy = () => this.#requests.size > 0 && this.#navigation === undefined
        if (!isBusy() || performance.now() >= requestsEnd) break
        await this.#until(() => !isBusy(), signal, requestsEnd)
      }
    }
    const opened = this.#windows.value - this.#windowsBefore
    await this.#until(() => this.#popups.length >= opened, signal, performance.now() + POPUPS)
    for (const popup of this.#popups) {
      // A tab that only offers a file never gets a document; Playwright reports the file on its opener.
      await Promise.race([reaches(popup, 'domcontentloaded', signal, end), this.#download.promise])
    }
    return true
  }

  /** Waits for the error page that follows the failure of a navigation: later, it would end the next one. */
  async settleFailure(signal: AbortSignal): Promise<void> {
    if (this.#failure === undefined) return
    await this.#until(
      () => this.#hasErrorPage || this.page.isClosed(),
      signal,
      performance.now() + ERROR_PAGE
    )
  }

  async #hasLoaded(signal: AbortSignal, end: number, load: number): Promise<boolean> {
    if (!(await this.#until(() => this.#navigation === undefined, signal, end))) {
      await stopLoading(this.page)
      throw new RUN_ERR_BROWSER_ACTION_FAILED('the next page did not respond in time')
    }
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#hasNavigated) return true
    this.#hasNavigated = false
    // Over http the egress proxy answers in place of a host that is not allowed.
    const url = URL.parse(this.page.url())
    if (url !== null && /^https?:$/.test(url.protocol)) requireHost(url, this.#hosts)
    if (!(await reaches(this.page, 'domcontentloaded', signal, end))) return false
    return reaches(this.page, 'load', signal, Math.min(end, performance.now() + load))
  }

  // False if it is not so by the end.
  async #until(isSo: () => boolean, signal: AbortSignal, end: number): Promise<boolean> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, Math.max(0, end - performance.now()))
    try {
      while (!isSo() && performance.now() < end) {
        await unlessAborted(signal, () => Promise.race([this.#changed.promise, late.promise]))
      }
      return isSo()
    } finally {
      clearTimeout(timer)
    }
  }

  #onRequest(request: Request): void {
    if (AWAITED.has(request.resourceType())) this.#requests.add(request)
    if (this.#isOfPage(request)) {
      this.#navigation = request
      this.#failure = undefined
      this.#hasErrorPage = false
    }
    this.#wake()
  }

  #onResponse(response: Response): void {
    if (this.#isOfPage(response.request())) this.#answer = response
  }

  #onEnd(request: Request): void {
    this.#requests.delete(request)
    const code = netErrorCode(request.failure()?.errorText ?? '')
    if (code !== undefined && request === this.#navigation) {
      // Aborted are also downloads, and answers without content: the page stays.
      if (code !== 'ERR_ABORTED') this.#failure = navigationError(request.url(), code, this.#hosts)
      this.#navigation = undefined
    }
    this.#wake()
  }

  #onNavigated(frame: Frame): void {
    if (frame !== this.page.mainFrame()) return
    if (isErrorPage(frame.url())) {
      this.#hasErrorPage = true
      // It is of a navigation before this one.
      if (this.#navigation !== undefined) return
    }
    // Without a request it is a change of history, or a page such as about:blank.
    if (this.#navigation !== undefined) {
      this.#requests.clear()
      // It may be the page of a request before the last one, which has no answer yet.
      this.#status = this.#answer?.status()
    }
    this.#hasNavigated = true
    this.#endNavigation()
  }

  #onPopup(popup: Page): void {
    this.#popups.push(popup)
    this.#wake()
  }

  #onDownload(): void {
    this.#download.resolve()
    this.#endNavigation()
  }

  #endNavigation(): void {
    this.#navigation = undefined
    this.#wake()
  }

  #isOfPage(request: Request): boolean {
    if (!request.isNavigationRequest()) return false
    try {
      return request.frame() === this.page.mainFrame()
    } catch {
      // The frame is not there before a new page has begun.
      return true
    }
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

const subscribed = new WeakSet<Page>()

// Playwright turns events on and off with their first and last listener, which costs each action more than the events do.
function subscribe(page: Page, names: readonly string[]): void {
  if (subscribed.has(page)) return
  subscribed.add(page)
  const on = page.on.bind(page) as (name: string, listener: () => void) => void
  for (const name of names) on(name, () => undefined)
}

// False if the page does not reach the state by the end. A page that closes has reached all.
async function reaches(
  page: Page,
  state: 'load' | 'domcontentloaded',
  signal: AbortSignal,
  end: number
): Promise<boolean> {
  const timeout = Math.max(1, end - performance.now())
  try {
    await page.waitForLoadState(state, { signal, timeout })
    return true
  } catch (err) {
    signal.throwIfAborted()
    return !(err instanceof Error && err.name === 'TimeoutError')
  }
}
