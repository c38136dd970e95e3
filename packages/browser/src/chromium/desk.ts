import { unlessAborted } from '@svc/runtime/loop'
import type { Page } from 'playwright-core'
import {
  LATE,
  withinTime,
  type Acted,
  type Desk,
  type DeskAction,
  type DeskOptions,
  type DeskPlace,
  type Look,
  type LookOptions,
  type Screenshot,
  type ScreenshotOptions,
  type Spot,
  type StorageState,
  type Target
} from '../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_CRASHED } from '../errors.ts'
import { coverPasswords, coverPasswordsInUrl } from '../look/page-lens.ts'
import { takeLook } from '../look/take-look.ts'
import { takeScreenshot } from '../look/take-screenshot.ts'
import { describeTarget } from './actions/find-element.ts'
import { performAction } from './actions/perform-action.ts'
import type { DeskContext } from './desk-context.ts'

/** What a desk gets from its browser. */
export interface Seat {
  /** Opens a browser context for it. @throws RUN_ERR_BROWSER_MISSING, RUN_ERR_BROWSER_FAILED */
  open(state: StorageState | undefined): Promise<DeskContext>
  /** Set once its connections have exceeded their bytes. */
  readonly fault: Error | undefined
  /** Called when the desk has closed. */
  leave(): Promise<void>
}

// Milliseconds.
const CLEANUP = 1_000

/** A desk in Chromium. */
export class ChromiumDesk implements Desk {
  readonly #seat: Seat
  readonly #options: DeskOptions
  readonly #closing = new AbortController()
  #context: DeskContext
  #state: StorageState | undefined
  #isCrashReported = false
  #acting: Promise<void> | undefined
  #closed: Promise<void> | undefined

  static async open(seat: Seat, options: DeskOptions): Promise<ChromiumDesk> {
    return new ChromiumDesk(seat, options, await seat.open(options.state))
  }

  private constructor(seat: Seat, options: DeskOptions, context: DeskContext) {
    this.#seat = seat
    this.#options = options
    this.#context = context
    this.#state = options.state
  }

  async place(): Promise<DeskPlace> {
    const context = this.#context
    const { tabs, dialogs } = context
    const { current } = tabs
    if (current === undefined) return { url: 'about:blank', title: '', tabs: [] }
    const dialog = dialogs.of(current)
    const browserContext = current.context()
    const cover = (text: string) => coverPasswords(browserContext, text)
    const urlOf = (page: Page) => coverPasswordsInUrl(browserContext, page.url())
    return {
      url: urlOf(current),
      title: cover(await context.unlessGone(() => tabs.titleOf(current)).catch(() => '')),
      tabs: tabs.all.map((page, index) => ({ index, url: urlOf(page), isCurrent: page === current })),
      ...(dialog && { dialog: { ...dialog, message: cover(dialog.message) } })
    }
  }

  async look(options: LookOptions = {}): Promise<Look> {
    return this.#during(async ({ tabs, dialogs }, signal) => {
      const page = tabs.current!
      const seen =
        dialogs.of(page) === undefined ? await takeLook(page, options, this.#bounds(signal)) : BLOCKED
      return { ...seen, ...(await this.place()) }
    })
  }

  async screenshot(options: ScreenshotOptions = {}): Promise<Screenshot> {
    return this.#during(({ tabs }, signal) => takeScreenshot(tabs.current!, options, this.#bounds(signal)))
  }

  async target(spot: Spot): Promise<Target> {
    return this.#during(({ tabs }, signal) => describeTarget(tabs.current!, spot, this.#bounds(signal)))
  }

  async act(action: DeskAction, signal: AbortSignal): Promise<Acted> {
    return this.#during(async (context, ended) => {
      const { tabs, dialogs } = context
      // Nothing else lets a page reach a server.
      await context.checked()
      if (action.action !== 'dialog') await this.#dismiss(context)
      const scope = {
        tabs,
        dialogs,
        hosts: this.#options.hosts,
        timeout: this.#options.timeout,
        notice: (text: string) => context.notice(text)
      }
      // A dialog blocks its page, and whatever is done to it: the model answers it with the next action.
      const asked = new AbortController()
      const acting = performAction(scope, action, AbortSignal.any([ended, asked.signal]))
      this.#acting = acting.catch(() => undefined)
      await Promise.race([acting, untilBlocked(context)])
      if (dialogs.of(tabs.current!) === undefined) await acting
      else asked.abort()
      await this.#awaitDownloads(context)
      if (this.#seat.fault !== undefined) throw this.#seat.fault
      return { downloads: context.downloads.take(), notices: context.takeNotices() }
    }, signal)
  }

  async state(): Promise<StorageState> {
    const { action } = this.#options.timeout
    const state = await this.#during((context) => withinTime(context.state(), action))
    if (state === LATE) throw new RUN_ERR_BROWSER_ACTION_FAILED(`a page did not answer within ${action} ms`)
    return (this.#state = state)
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closing.abort(new RUN_ERR_BROWSER_ACTION_FAILED('its browser is closed'))
    await this.#context.close()
    await this.#seat.leave()
  }

  // Runs in the current tab, until the action, the desk or the browser ends.
  async #during<T>(
    work: (context: DeskContext, signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal
  ): Promise<T> {
    this.#closing.signal.throwIfAborted()
    // An action that was aborted still stops what it began: the next call must not be stopped with it.
    if (this.#acting !== undefined) await withinTime(this.#acting, CLEANUP)
    const context = await this.#ready()
    const ended = AbortSignal.any([this.#closing.signal, context.crash, ...(signal ? [signal] : [])])
    try {
      return await unlessAborted(ended, () => work(context, ended))
    } catch (err) {
      const reason: unknown = ended.aborted ? ended.reason : (this.#seat.fault ?? err)
      // A call may notice a crash before it is reported.
      this.#isCrashReported = reason instanceof RUN_ERR_BROWSER_CRASHED || reason === context.crash.reason
      throw reason
    }
  }

  // A crash is reported once; then the desk begins with an empty tab.
  async #ready(): Promise<DeskContext> {
    const { crash } = this.#context
    const isReported = this.#isCrashReported
    this.#isCrashReported = true
    if (crash.aborted && !isReported) throw crash.reason
    if (!(await this.#context.recover())) {
      // The end of the browser may follow a crash of its page by a moment.
      if (!isReported) throw new RUN_ERR_BROWSER_CRASHED()
      this.#context = await this.#seat.open(this.#state)
    }
    this.#isCrashReported = false
    return this.#context
  }

  async #dismiss(context: DeskContext): Promise<void> {
    const { tabs, dialogs } = context
    const dialog = dialogs.of(tabs.current!)
    if (dialog === undefined) return
    await dialogs.answer(tabs.current!, false)
    context.notice(`The ${dialog.type} dialog was dismissed: ${JSON.stringify(dialog.message)}`)
  }

  // As long as an action may take; longer ones are for a later action.
  async #awaitDownloads({ downloads, notice }: DeskContext): Promise<void> {
    await withinTime(downloads.settled(), this.#options.timeout.action)
    for (const name of downloads.pending) notice(`The download of ${name} continues`)
  }

  #bounds(signal: AbortSignal) {
    return { timeout: this.#options.timeout.action, signal }
  }
}

// Resolves once the current tab has a dialog that it did not have before: an action may open another tab.
async function untilBlocked({ tabs, dialogs }: DeskContext): Promise<void> {
  while ((await dialogs.next()) !== tabs.current);
}

// What a look at a page shows that a dialog blocks.
const BLOCKED = { text: '', omitted: 0, hash: 'dialog' }
