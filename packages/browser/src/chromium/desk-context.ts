import { unlessAborted } from '@svc/runtime/loop'
import type { BrowserContext, Dialog, Page } from 'playwright-core'
import { LATE, withinTime, type DeskOptions, type DeskPlace, type StorageState } from '../browser.ts'
import { GREETING, type EgressProxy } from '../egress/egress-proxy.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED, RUN_ERR_BROWSER_FAILED } from '../errors.ts'
import { cutText } from '../look/to-lines.ts'
import { callInPage, sessionOf } from '../page-session.ts'
import { Downloads } from './downloads.ts'
import type { RunningBrowser } from './launch.ts'
import type { ChromiumPlan } from './plan-chromium.ts'

/** The dialogs of the tabs of a desk. A dialog blocks the scripts of its page until it is answered. */
class Dialogs {
  readonly #pending = new Map<Page, Dialog>()
  // Of pages that are not known yet.
  readonly #early: Dialog[] = []
  #opened = Promise.withResolvers<Page>()

  constructor(context: BrowserContext) {
    // Not page by page: Playwright dismisses the dialogs of a new page until it knows of a listener.
    context.on('page', (page) => this.#watch(page))
    context.on('dialog', (dialog) => {
      const page = dialog.page()
      if (page === null) this.#early.push(dialog)
      else this.#open(page, dialog)
    })
  }

  /** The dialog of a page that waits for an answer. */
  of(page: Page): DeskPlace['dialog'] {
    const dialog = this.#pending.get(page)
    if (dialog === undefined) return undefined
    return {
      type: dialog.type() as NonNullable<DeskPlace['dialog']>['type'],
      message: cutText(dialog.message(), MAX_MESSAGE)
    }
  }

  /** Resolves with the page once a dialog opens. */
  next(): Promise<Page> {
    return this.#opened.promise
  }

  /** Answers the dialog of a page; false if it has none. */
  async answer(page: Page, accept: boolean, text?: string): Promise<boolean> {
    const dialog = this.#pending.get(page)
    if (dialog === undefined) return false
    this.#pending.delete(page)
    // The page may be gone by now, and its dialog with it.
    await (accept ? dialog.accept(text) : dialog.dismiss()).catch(() => undefined)
    return true
  }

  #watch(page: Page): void {
    const early = this.#early.shift()
    if (early !== undefined) this.#open(page, early)
    page.once('close', () => this.#pending.delete(page))
    page.once('crash', () => this.#pending.delete(page))
  }

  #open(page: Page, dialog: Dialog): void {
    this.#pending.set(page, dialog)
    this.#opened.resolve(page)
    this.#opened = Promise.withResolvers()
  }
}

const MAX_MESSAGE = 1_000

interface TargetInfo {
  readonly title: string
  readonly browserContextId?: string
}

interface FrameTree {
  readonly frame: { readonly id: string }
  readonly childFrames?: readonly FrameTree[]
}

// Milliseconds in which a page lists its frames.
const ANSWER = 1_000

/** The tabs of a desk, in the order in which they were opened. */
class Tabs {
  readonly #context: BrowserContext
  readonly #limit: number
  readonly #onNotice: (notice: string) => void
  readonly #all: Page[] = []
  #current: Page | undefined
  #opening = 0

  /** `onPage` is called for each tab before its scripts run. */
  constructor(
    context: BrowserContext,
    limit: number,
    { onPage, onNotice }: { onPage: (page: Page) => void; onNotice: (notice: string) => void }
  ) {
    this.#context = context
    this.#limit = limit
    this.#onNotice = onNotice
    context.on('page', (page) => this.#accept(page, onPage))
  }

  get all(): readonly Page[] {
    return this.#all
  }

  /** The tab that actions apply to; undefined once all are closed, until `ensure`. */
  get current(): Page | undefined {
    return this.#current
  }

  /** Opens an empty tab if there is none. */
  async ensure(): Promise<void> {
    if (this.#current === undefined) await this.open()
  }

  /** Opens an empty tab, which becomes the current one. @throws RUN_ERR_BROWSER_ACTION_FAILED */
  async open(): Promise<Page> {
    if (this.#all.length + this.#opening >= this.#limit)
      throw new RUN_ERR_BROWSER_ACTION_FAILED(`${this.#limit} tabs are open already; close one`)
    this.#opening++
    try {
      return (this.#current = await this.#context.newPage())
    } finally {
      this.#opening--
    }
  }

  /** Makes a tab the current one. @throws RUN_ERR_BROWSER_ACTION_FAILED */
  async select(index: number): Promise<void> {
    this.#current = this.#at(index)
    // A page that does not respond cannot be activated, but its place is known.
    await this.#current.bringToFront().catch(() => undefined)
  }

  /** Closes a tab; an empty one takes the place of the last. @throws RUN_ERR_BROWSER_ACTION_FAILED */
  async close(index: number): Promise<void> {
    const page = this.#at(index)
    await page.close()
    this.#remove(page)
    await this.ensure()
  }

  /** True if there is a current tab, and the browser still knows it. */
  async isCurrentOpen(): Promise<boolean> {
    return this.#current !== undefined && (await this.#infoOf(this.#current)) !== undefined
  }

  async titleOf(page: Page): Promise<string> {
    const { title = '' } = (await this.#infoOf(page)) ?? {}
    // Without one some versions give the URL.
    return title === page.url() ? '' : title
  }

  /** The id of the browser context that a tab is in. */
  async contextIdOf(page: Page): Promise<string | undefined> {
    return (await this.#infoOf(page))?.browserContextId
  }

  /** True if one of its pages has the frame, in the process of the page; false too if that page does not respond. */
  async hasFrame(frameId: string): Promise<boolean> {
    const found = this.#all.map(async (page) => {
      const session = await sessionOf(page)
      const { frameTree } = await session.send('Page.getFrameTree')
      return isIn(frameTree, frameId)
    })
    const answers = await withinTime(Promise.allSettled(found), ANSWER)
    return answers !== LATE && answers.some((answer) => answer.status === 'fulfilled' && answer.value)
  }

  // Asks the browser, since the page may not respond.
  async #infoOf(page: Page): Promise<TargetInfo | undefined> {
    try {
      const { targetInfo } = await (await sessionOf(page)).send('Target.getTargetInfo')
      return targetInfo
    } catch {
      // The page has closed or crashed meanwhile.
      return undefined
    }
  }

  #at(index: number): Page {
    const page = this.#all[index]
    if (page !== undefined) return page
    throw new RUN_ERR_BROWSER_ACTION_FAILED(`no tab ${index}; there are tabs 0 to ${this.#all.length - 1}`)
  }

  #accept(page: Page, onPage: (page: Page) => void): void {
    if (this.#all.length >= this.#limit) {
      this.#onNotice(`A tab was closed, since at most ${this.#limit} may be open`)
      void page.close().catch(() => undefined)
      return
    }
    const isPopup = this.#opening === 0
    this.#all.push(page)
    this.#current = page
    onPage(page)
    page.once('close', () => this.#remove(page))
    page.once('crash', () => this.#remove(page))
    if (isPopup) this.#onNotice(`A new tab was opened, and is the current one: ${this.#all.indexOf(page)}`)
  }

  #remove(page: Page): void {
    const index = this.#all.indexOf(page)
    if (index < 0) return
    this.#all.splice(index, 1)
    if (this.#current === page) this.#current = this.#all[Math.max(0, index - 1)]
  }
}

function isIn({ frame, childFrames = [] }: FrameTree, frameId: string): boolean {
  return frame.id === frameId || childFrames.some((child) => isIn(child, frameId))
}

const MAX_NOTICES = 20
// A page that locks the pointer gets every click, wherever it was meant to go.
const WITHOUT_POINTER_LOCK = `Element.prototype.requestPointerLock = async function requestPointerLock() {
  throw new DOMException('The pointer cannot be locked', 'NotSupportedError')
}`

/** What a browser context begins with. */
export interface ContextStart {
  readonly plan: ChromiumPlan
  readonly options: DeskOptions
  readonly state: StorageState | undefined
  /** Undefined only for a browser that was not started here. */
  readonly proxy: EgressProxy['settings'] | undefined
}

/** A browser context with its tabs. A desk gets another one after a crash of the browser. */
export class DeskContext {
  readonly tabs: Tabs
  readonly dialogs: Dialogs
  readonly #context: BrowserContext
  readonly #check: RunningBrowser['check']
  #downloads: Downloads | undefined
  readonly #notices: string[] = []
  readonly #gone = new AbortController()
  #crash = new AbortController()

  /** Opens one, with an empty tab: await `checked` before anything else is opened. */
  static async open({ browser, check }: RunningBrowser, start: ContextStart): Promise<DeskContext> {
    const { plan, options, state, proxy } = start
    const context = await browser.newContext({
      acceptDownloads: options.maxDownloadBytes !== undefined,
      locale: plan.locale,
      permissions: [],
      serviceWorkers: 'block',
      timezoneId: plan.timezone,
      viewport: plan.viewport,
      ...(proxy && { proxy: { server: proxy.server, bypass: proxy.bypass } }),
      ...(state && { storageState: state as never })
    })
    const desk = new DeskContext(context, check, options.limits.tabs)
    try {
      await context.addInitScript(WITHOUT_POINTER_LOCK)
      const page = await desk.tabs.open()
      // It takes longer than all the rest, and whatever needs it waits for it.
      desk.checked().catch(ignore)
      const signedIn = proxy && unlessAborted(desk.crash, () => signIn(page, proxy))
      // Awaited below.
      signedIn?.catch(ignore)
      desk.#downloads = await Downloads.watch(browser, {
        browserContextId: await desk.tabs.contextIdOf(page),
        // A browser elsewhere has another disk.
        maxBytes: proxy === undefined ? undefined : options.maxDownloadBytes,
        onNotice: desk.notice,
        hasFrame: (frameId) => desk.tabs.hasFrame(frameId)
      })
      await signedIn
    } catch (err) {
      await desk.close()
      throw err
    }
    return desk
  }

  private constructor(context: BrowserContext, check: RunningBrowser['check'], maxTabs: number) {
    this.#context = context
    this.#check = check
    this.dialogs = new Dialogs(context)
    this.tabs = new Tabs(context, maxTabs, {
      onPage: (page) => this.#watch(page),
      onNotice: this.notice
    })
    // It closes when the browser ends, too.
    context.once('close', () => {
      this.#gone.abort(new RUN_ERR_BROWSER_CRASHED())
      this.#end()
    })
  }

  get downloads(): Downloads {
    return this.#downloads!
  }

  /**
   * Resolves once the browser is known to send nothing past its proxy. Call it with an open tab; nothing may be opened in it before.
   * @throws RUN_ERR_BROWSER_FAILED if it does, RUN_ERR_BROWSER_CRASHED if the tab is gone before that is known
   */
  async checked(): Promise<void> {
    try {
      await this.#check(this.tabs.current!)
    } catch (cause) {
      if (!(cause instanceof RUN_ERR_BROWSER_FAILED)) throw new RUN_ERR_BROWSER_CRASHED({ cause })
      // The browser is ended, which is no crash.
      this.#crash.abort(cause)
      throw cause
    }
  }

  /**
   * Aborts when the current tab or the browser crashes, until `recover`. Its reason is RUN_ERR_BROWSER_CRASHED, or RUN_ERR_BROWSER_FAILED
   * if the browser did not pass its check.
   */
  get crash(): AbortSignal {
    return this.#crash.signal
  }

  /** Makes sure of a tab: an empty one after a crash, or if all are closed. False if the browser has ended. */
  async recover(): Promise<boolean> {
    const isCrashed = this.crash.aborted
    if (isCrashed) this.#crash = new AbortController()
    try {
      await this.unlessGone(() => (isCrashed ? this.tabs.open() : this.tabs.ensure()))
      return true
    } catch (err) {
      if (!this.#gone.signal.aborted) throw err
      return false
    }
  }

  /** Settles like `work()`, or rejects if the browser ends: not every call to it settles then. @throws RUN_ERR_BROWSER_CRASHED */
  unlessGone<T>(work: () => T): Promise<Awaited<T>> {
    return unlessAborted(this.#gone.signal, work)
  }

  /** Adds a notice for the model; a page can cause any number of them, of which the first are kept. */
  readonly notice = (text: string): void => {
    if (this.#notices.length < MAX_NOTICES) this.#notices.push(text)
  }

  takeNotices(): readonly string[] {
    return this.#notices.splice(0)
  }

  async state(): Promise<StorageState> {
    return this.#context.storageState()
  }

  async close(): Promise<void> {
    await this.unlessGone(() => this.#context.close()).catch(ignore)
    await this.#downloads?.close()
  }

  #watch(page: Page): void {
    page.once('crash', () => {
      if (page === this.tabs.current) this.#end()
      else this.notice('A tab in the background crashed, and was closed')
    })
  }

  #end(): void {
    this.#crash.abort(new RUN_ERR_BROWSER_CRASHED())
  }
}

const ignore = () => undefined

/**
 * Signs in a browser context to its proxy, from its first page, which is empty: Chromium keeps the credentials for all requests of the
 * context. Playwright would stop each of them for the credentials, and turn off the cache. Waits without end for a page that crashes.
 * @throws the error of the page if it closes meanwhile
 */
async function signIn(page: Page, { server, username, password }: EgressProxy['settings']): Promise<void> {
  const session = await sessionOf(page)
  const send: typeof session.send = (method, params) => session.send(method, params)
  session.on('Fetch.requestPaused', ({ requestId }) => {
    // The page may be gone, which is what the request itself reports.
    send('Fetch.continueRequest', { requestId }).catch(() => undefined)
  })
  session.on('Fetch.authRequired', ({ requestId, authChallenge: { source, origin } }) => {
    const authChallengeResponse =
      source === 'Proxy' && origin === server
        ? { response: 'ProvideCredentials' as const, username, password }
        : { response: 'CancelAuth' as const }
    send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined)
  })
  await send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: `${GREETING}*` }] })
  await callInPage(page, greet, GREETING)
  await send('Fetch.disable')
}

// Runs in the page.
async function greet(url: string): Promise<void> {
  await fetch(url, { mode: 'no-cors' })
}
