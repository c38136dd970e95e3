import type { BrowserContext, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../errors.ts'
import { LATE, withinTime } from '../deadline.ts'
import { sessionOf } from '../page-session.ts'

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
export class Tabs {
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
