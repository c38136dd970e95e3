import {
  RUN_ERR_BROWSER_ACTION_FAILED,
  RUN_ERR_BROWSER_HOST_REFUSED,
  RUN_ERR_BROWSER_STALE_REF
} from '../../src/errors.ts'
import type {
  Acted,
  Browser,
  Desk,
  DeskAction,
  DeskOptions,
  DeskPlace,
  Download,
  StorageState,
  Target
} from '@svc/browser'

/** An element of a fake page. */
export interface FakeElement extends Partial<Target> {
  /** The address that a click leads to. */
  goes?: string
  offers?: { filename: string; content: string }
}

/** A page in memory. */
export interface FakePage {
  title?: string
  text?: string
  elements?: Record<string, FakeElement>
  dialog?: NonNullable<DeskPlace['dialog']>
}

/** A browser whose pages are in memory. */
export interface FakeBrowser extends Browser {
  /** All that was done to its pages. */
  readonly acted: DeskAction[]
  readonly hidden: (readonly string[])[]
  readonly opened: DeskOptions[]
  openDesks: number
}

/** Creates a browser with these pages, by their addresses. */
export function fakeBrowser(
  pages: Record<string, FakePage>,
  { isGuarded = true, fails }: { isGuarded?: boolean; fails?: () => Error | undefined } = {}
): FakeBrowser {
  const browser: FakeBrowser = {
    isGuarded,
    acted: [],
    hidden: [],
    opened: [],
    openDesks: 0,
    async open(options) {
      const failure = fails?.()
      if (failure !== undefined) throw failure
      browser.opened.push(options)
      browser.openDesks++
      return new FakeDesk(pages, options, browser)
    },
    async close() {}
  }
  return browser
}

class FakeDesk implements Desk {
  readonly #pages: Record<string, FakePage>
  readonly #options: DeskOptions
  readonly #browser: FakeBrowser
  readonly #values = new Map<string, string>()
  #history: string[] = []
  #isClosed = false

  constructor(pages: Record<string, FakePage>, options: DeskOptions, browser: FakeBrowser) {
    this.#pages = pages
    this.#options = options
    this.#browser = browser
  }

  get #url(): string {
    return this.#history.at(-1) ?? 'about:blank'
  }

  get #page(): FakePage {
    return this.#pages[this.#url] ?? {}
  }

  async place(): Promise<DeskPlace> {
    const { title = '', dialog } = this.#page
    const url = this.#url
    return { url, title, tabs: [{ index: 0, url, isCurrent: true }], ...(dialog && { dialog }) }
  }

  async look({ within }: { within?: string } = {}) {
    const { text = '', elements = {} } = this.#page
    const lines = Object.entries(elements)
      .filter(([ref]) => within === undefined || ref === within)
      .map(([ref, { role = 'button', name = '' }]) => {
        const value = this.#values.get(ref)
        return `- ${role} ${JSON.stringify(name)} [ref=${ref}]${value === undefined ? '' : `: ${value}`}`
      })
    const whole = [...(within === undefined ? [text] : []), ...lines].filter(Boolean).join('\n')
    return { ...(await this.place()), text: whole, omitted: 0, hash: whole }
  }

  async target(spot: { ref: string } | { x: number; y: number }): Promise<Target> {
    const { goes: _goes, offers: _offers, ...element } = this.#element(spot)
    return { frameUrl: this.#url, tag: 'button', role: 'button', name: '', ...element }
  }

  async act(action: DeskAction, signal: AbortSignal): Promise<Acted> {
    signal.throwIfAborted()
    this.#browser.acted.push(action)
    const notices: string[] = []
    const downloads: Download[] = []
    if (action.action === 'open') this.#go(action.url)
    else if (action.action === 'back') this.#history.pop()
    else if (action.action === 'type' && action.at !== undefined && 'ref' in action.at) {
      this.#element(action.at)
      this.#values.set(action.at.ref, action.text)
    } else if (action.action === 'click') {
      const { goes, offers } = this.#element(action.at)
      if (goes !== undefined) this.#go(goes)
      if (offers !== undefined) downloads.push(toDownload(offers, this.#url))
    } else if ('at' in action && action.at !== undefined) this.#element(action.at)
    return { downloads, notices }
  }

  async screenshot({ hide = [] }: { hide?: readonly string[] } = {}) {
    this.#browser.hidden.push(hide)
    return { data: Buffer.from('jpeg'), mimeType: 'image/jpeg' as const, width: 1280, height: 800 }
  }

  async state(): Promise<StorageState> {
    return { cookies: [{ name: 'seen', value: this.#url }], origins: [] }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#browser.openDesks--
  }

  #element(spot: { ref: string } | { x: number; y: number }): FakeElement {
    const ref = 'ref' in spot ? spot.ref : `${spot.x},${spot.y}`
    const element = this.#page.elements?.[ref]
    if (element === undefined) throw new RUN_ERR_BROWSER_STALE_REF(ref)
    return element
  }

  #go(url: string): void {
    const { hostname = '', port = '' } = URL.parse(url) ?? {}
    if (!/^https?:/.test(url)) throw new RUN_ERR_BROWSER_HOST_REFUSED(`only http: and https: (${url})`)
    if (!this.#options.hosts.allows(hostname, Number(port || 443))) {
      this.#options.onBlocked?.({ host: hostname, reason: 'host' })
      throw new RUN_ERR_BROWSER_HOST_REFUSED(hostname)
    }
    if (!(url in this.#pages)) throw new RUN_ERR_BROWSER_ACTION_FAILED(`no page at ${url}`)
    this.#history = [...this.#history, url]
    this.#values.clear()
  }
}

function toDownload({ filename, content }: { filename: string; content: string }, url: string): Download {
  const bytes = Buffer.from(content)
  return {
    filename,
    url,
    size: bytes.length,
    async *content() {
      yield bytes
    }
  }
}
