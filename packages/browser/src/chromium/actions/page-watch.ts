import { unlessAborted } from '@svc/runtime/loop'
import type { Frame, Page, Request, Response } from 'playwright-core'
import { withinTime, type HostPolicy } from '../../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_HOST_REFUSED } from '../../errors.ts'
import { callInPage, sessionOf, stopLoading } from '../../page-session.ts'
import type { PageDocument } from './page-dom.ts'

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/**
 * The URL that a model asks to open, normalized. The egress proxy enforces the policy; this gives the model a clear answer.
 * @throws RUN_ERR_BROWSER_HOST_REFUSED, RUN_ERR_BROWSER_ACTION_FAILED if it is no URL
 */
export function checkUrl(text: string, hosts: HostPolicy): string {
  // The parser drops them silently, so that the URL opened would not be the one that was read.
  if (/\p{Cc}|^\s|\s$/u.test(text)) {
    throw new RUN_ERR_BROWSER_HOST_REFUSED('a URL that has control characters, or spaces around it')
  }
  if (text === 'about:blank') return text
  const url = URL.parse(text)
  if (url === null) {
    throw new RUN_ERR_BROWSER_ACTION_FAILED('that is not a whole URL; it starts with https:// or http://')
  }
  const defaultPort = DEFAULT_PORTS[url.protocol]
  if (defaultPort === undefined) {
    throw new RUN_ERR_BROWSER_HOST_REFUSED(
      `${url.protocol.slice(0, 40)} URLs; only http and https pages are opened`
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new RUN_ERR_BROWSER_HOST_REFUSED('a URL with a user name or a password in it')
  }
  requireHost(url, hosts)
  return url.href
}

/** @throws RUN_ERR_BROWSER_HOST_REFUSED if the policy does not allow the host and port of an http or https URL */
function requireHost(url: URL, hosts: HostPolicy): void {
  const port = url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port)
  if (hosts.allows(url.hostname, port)) return
  throw new RUN_ERR_BROWSER_HOST_REFUSED(`the host ${url.host.slice(0, 100)}`)
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ERR_(?:TUNNEL_CONNECTION_FAILED|PROXY_|SOCKS_)/, 'cannot be reached, or its address is not allowed'],
  [/^ERR_NAME_/, 'has no address: there is no such host'],
  [/^ERR_(?:CERT|SSL|BAD_SSL)_/, 'has no valid certificate, so the connection would not be safe'],
  [/^ERR_TOO_MANY_REDIRECTS/, 'redirects without end'],
  [/^ERR_(?:CONNECTION_TIMED_OUT|TIMED_OUT)/, 'did not answer in time'],
  [/^ERR_(?:CONNECTION|SOCKET|EMPTY_RESPONSE|ADDRESS|NETWORK)/, 'refused or broke the connection'],
  [/^ERR_(?:INVALID_|INCOMPLETE|CONTENT_|HTTP|RESPONSE)/, 'gave an answer that is no page'],
  [/^ERR_(?:BLOCKED|UNSAFE|ACCESS|DISALLOWED|UNKNOWN_URL_SCHEME)/, 'was blocked by the browser']
]

/** Why a page did not open. `code` is Chromium's, e.g. `ERR_CONNECTION_REFUSED`; `url` is the one that failed, after redirects. */
export function navigationError(url: string, code: string, hosts: HostPolicy): Error {
  const failed = URL.parse(url)
  try {
    if (failed !== null) requireHost(failed, hosts)
  } catch (err) {
    return err as Error
  }
  const reason = REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? 'did not open'
  return new RUN_ERR_BROWSER_ACTION_FAILED(`${failed?.host ?? 'the page'} ${reason} (${code})`)
}

/** The code of Chromium in a text; undefined if there is none. */
export function netErrorCode(text: string): string | undefined {
  return /net::(ERR_[A-Z0-9_]+)/.exec(text)?.[1]
}

// Milliseconds without a change after which a page counts as quiet.
const QUIET = 30
// Milliseconds after which a page that never stops changing counts as quiet.
const RESTLESS = 300
// Milliseconds by which the answer of a page may be late.
const LATE = 200

/**
 * Waits until a page neither changes nor scrolls for a moment. Bounded, whatever the page does.
 * `reaction`: milliseconds that the first change may take. @throws the reason of `signal`
 */
async function untilQuiet(page: Page, signal: AbortSignal, reaction: number): Promise<void> {
  const wait = { reaction, quiet: QUIET, restless: RESTLESS }
  // A page that navigates or closes meanwhile destroys the function that runs in it.
  const quiet = callInPage(page, quietMoment, wait).catch(() => undefined)
  await unlessAborted(signal, () => withinTime(quiet, reaction + RESTLESS + LATE))
}

interface PageGlobals {
  readonly document: PageDocument
  readonly MutationObserver: new (listener: () => void) => {
    observe(target: PageDocument, options: Readonly<Record<string, boolean>>): void
    disconnect(): void
  }
}

// Runs in the page.
function quietMoment(wait: { reaction: number; quiet: number; restless: number }): Promise<void> {
  const { document, MutationObserver } = globalThis as unknown as PageGlobals
  return new Promise((resolve) => {
    const begin = performance.now()
    let changed = 0
    const onChange = () => (changed = performance.now())
    const observer = new MutationObserver(onChange)
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
    // Keys scroll in steps; the event does not bubble.
    document.addEventListener('scroll', onChange, true)
    const check = () => {
      const now = performance.now()
      const quiet = changed === 0 ? begin + Math.max(wait.quiet, wait.reaction) : changed + wait.quiet
      const left = Math.min(quiet, begin + wait.reaction + wait.restless) - now
      // Timers of a page are no more exact than a millisecond.
      if (left > 1) setTimeout(check, left)
      else {
        observer.disconnect()
        document.removeEventListener('scroll', onChange, true)
        resolve()
      }
    }
    check()
  })
}

interface Count {
  value: number
}

const counts = new WeakMap<Page, Count>()

/**
 * Counts the windows that a page has asked to open, from the first call for this page on. The count grows before the action that opens
 * a window returns, which Playwright's `popup` event does not.
 */
function windowCount(page: Page): Readonly<Count> {
  let count = counts.get(page)
  if (count === undefined) {
    counts.set(page, (count = { value: 0 }))
    // A page that has closed opens none.
    void listen(page, count).catch(() => undefined)
  }
  return count
}

async function listen(page: Page, count: Count): Promise<void> {
  const session = await sessionOf(page)
  session.on('Page.windowOpen', () => count.value++)
  await session.send('Page.enable')
}

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
