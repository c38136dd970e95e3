import type { BrowserContext, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_CRASHED, RUN_ERR_BROWSER_FAILED } from '../errors.ts'
import { unlessAborted } from '@svc/runtime/loop'
import type { DeskOptions, StorageState } from '../browser.ts'
import { GREETING, type EgressProxy } from '../egress/egress-proxy.ts'
import { Dialogs } from './dialogs.ts'
import { Downloads } from './downloads.ts'
import type { RunningBrowser } from './launch.ts'
import type { ChromiumPlan } from './plan-chromium.ts'
import { Tabs } from './tabs.ts'
import { callInPage, sessionOf } from '../page-session.ts'

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
