import type { Browser, BrowserContext, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_CRASHED } from '../../errors.ts'
import type { DeskOptions, StorageState } from '../browser.ts'
import type { EgressProxy } from '../egress/egress-proxy.ts'
import { Dialogs } from './dialogs.ts'
import { Downloads } from './downloads.ts'
import type { ChromiumPlan } from './plan-chromium.ts'
import { Tabs } from './tabs.ts'

const MAX_NOTICES = 20

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
  readonly dialogs = new Dialogs()
  /** Set by `open`. */
  downloads!: Downloads
  readonly #context: BrowserContext
  readonly #notices: string[] = []
  #crash = new AbortController()
  #isOpen = true

  /** Opens one, with an empty tab. */
  static async open(browser: Browser, start: ContextStart): Promise<DeskContext> {
    const { plan, options, state, proxy } = start
    const context = await browser.newContext({
      acceptDownloads: options.maxDownloadBytes !== undefined,
      locale: plan.locale,
      permissions: [],
      serviceWorkers: 'block',
      timezoneId: plan.timezone,
      viewport: plan.viewport,
      ...(proxy && { proxy }),
      ...(state && { storageState: state as never })
    })
    const desk = new DeskContext(context, options.limits.tabs)
    const page = await desk.tabs.open()
    desk.downloads = await Downloads.watch(browser, {
      browserContextId: await desk.tabs.contextIdOf(page),
      // A browser elsewhere has another disk.
      maxBytes: proxy === undefined ? undefined : options.maxDownloadBytes,
      onNotice: desk.notice
    })
    return desk
  }

  private constructor(context: BrowserContext, maxTabs: number) {
    this.#context = context
    this.tabs = new Tabs(context, maxTabs, {
      onPage: (page) => this.#watch(page),
      onNotice: this.notice
    })
    // It closes when the browser ends, too.
    context.once('close', () => {
      this.#isOpen = false
      this.#end()
    })
  }

  /** Aborts when the current tab or the browser crashes, until `recover`; its reason is RUN_ERR_BROWSER_CRASHED. */
  get crash(): AbortSignal {
    return this.#crash.signal
  }

  /** False after the browser has ended. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Continues with an empty tab after a crash of a page. */
  async recover(): Promise<void> {
    this.#crash = new AbortController()
    await this.tabs.open()
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
    await this.#context.close().catch(() => undefined)
    await this.downloads.close()
  }

  #watch(page: Page): void {
    this.dialogs.watch(page)
    page.once('crash', () => {
      if (page === this.tabs.current) this.#end()
      else this.notice('A tab in the background crashed, and was closed')
    })
  }

  #end(): void {
    this.#crash.abort(new RUN_ERR_BROWSER_CRASHED())
  }
}
