import { unlessAborted } from '@svc/runtime/loop'
import type { Page } from 'playwright-core'
import {
  LATE,
  withinTime,
  type Acted,
  type Browser,
  type Desk,
  type DeskAction,
  type DeskOptions,
  type DeskPlace,
  type Look,
  type LookOptions,
  type Refusal,
  type Screenshot,
  type ScreenshotOptions,
  type Spot,
  type StorageState,
  type Target
} from '../browser.ts'
import { openEgressProxy, type EgressProxy } from '../egress/egress-proxy.ts'
import {
  RUN_ERR_BROWSER_ACTION_FAILED,
  RUN_ERR_BROWSER_BUSY,
  RUN_ERR_BROWSER_CRASHED,
  RUN_ERR_BROWSER_FAILED
} from '../errors.ts'
import { coverPasswords, coverPasswordsInUrl } from '../look/page-lens.ts'
import { takeLook } from '../look/take-look.ts'
import { takeScreenshot } from '../look/take-screenshot.ts'
import { describeTarget } from './actions/find-element.ts'
import { performAction } from './actions/perform-action.ts'
import { DeskContext, type ContextStart } from './desk-context.ts'
import {
  launchBrowser,
  planChromium,
  type ChromiumOptions,
  type ChromiumPlan,
  type RunningBrowser
} from './launch.ts'

/** One browser for all desks: started for the first, ended when none has been open for a while, and replaced when it crashes. */
class BrowserPool {
  readonly #launch: () => Promise<RunningBrowser>
  readonly #idle: number
  #running: Promise<RunningBrowser> | undefined
  #users = 0
  #timer: NodeJS.Timeout | undefined

  /** `idle`: milliseconds. */
  constructor(launch: () => Promise<RunningBrowser>, idle: number) {
    this.#launch = launch
    this.#idle = idle
  }

  /** Counts a desk, until `leave`: the browser is not idle meanwhile. */
  enter(): void {
    this.#users++
    clearTimeout(this.#timer)
  }

  leave(): void {
    if (--this.#users > 0) return
    void this.#running?.then((running) => {
      if (this.#users === 0) running.keepAlive(false)
    }, ignore)
    this.#timer = setTimeout(() => void this.end(), this.#idle).unref()
  }

  /** The browser; starts it unless it runs. @throws RUN_ERR_BROWSER_MISSING, RUN_ERR_BROWSER_FAILED */
  async get(): Promise<RunningBrowser> {
    const starting = (this.#running ??= this.#start())
    const running = await starting
    if (running.ended.aborted) {
      this.#forget(starting)
      return this.get()
    }
    running.keepAlive(true)
    return running
  }

  /** Ends the browser; resolves once nothing of it is left. */
  async end(): Promise<void> {
    clearTimeout(this.#timer)
    const running = this.#running
    this.#running = undefined
    await running?.then((browser) => browser.end(), ignore)
  }

  #start(): Promise<RunningBrowser> {
    const starting = this.#launch()
    starting.catch(() => this.#forget(starting))
    return starting
  }

  #forget(starting: Promise<RunningBrowser>): void {
    if (this.#running === starting) this.#running = undefined
  }
}

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

interface Waiter {
  readonly take: () => void
}

/** A number of places, given away in the order in which they were asked for. */
class Places {
  readonly #waiters = new Set<Waiter>()
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Takes a place. @throws RUN_ERR_BROWSER_BUSY after `timeout` milliseconds, or the reason of the signal */
  async take(timeout: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { take: resolve }
    const onAbort = () => reject(signal.reason)
    const timer = setTimeout(() => reject(new RUN_ERR_BROWSER_BUSY()), timeout)
    this.#waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await promise
    } finally {
      this.#waiters.delete(waiter)
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Gives a place to the one that has waited longest. */
  give(): void {
    const [next] = this.#waiters
    if (next === undefined) this.#free++
    else {
      this.#waiters.delete(next)
      next.take()
    }
  }
}

/**
 * A Chromium for browser agents. Needs the npm package `playwright-core`, and a Chromium, e.g. the Debian package
 * `chromium-headless-shell`. Nothing is loaded or started before the first desk opens.
 * @throws RUN_ERR_BAD_BROWSER
 */
export function chromium(options: ChromiumOptions = {}): Browser {
  return new Chromium(planChromium(options))
}

const MAX_OPENINGS = 5

class Chromium implements Browser {
  readonly isGuarded: boolean
  readonly #plan: ChromiumPlan
  readonly #places: Places
  readonly #pool: BrowserPool
  readonly #desks = new Set<ChromiumDesk>()
  #closing = new AbortController()

  constructor(plan: ChromiumPlan) {
    this.#plan = plan
    this.isGuarded = plan.connect === undefined
    this.#places = new Places(plan.pages)
    this.#pool = new BrowserPool(() => launchBrowser(plan), plan.idle)
  }

  async open(options: DeskOptions): Promise<ChromiumDesk> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    await this.#places.take(this.#plan.openTimeout, signal)
    this.#pool.enter()
    const opening = this.#openDesk(options)
    try {
      return await unlessAborted(signal, () => opening)
    } catch (err) {
      // It may still be opening.
      void opening.then((desk) => desk.close(), ignore)
      throw err
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new RUN_ERR_BROWSER_FAILED('it was closed'))
    this.#closing = new AbortController()
    await Promise.all([...this.#desks].map((desk) => desk.close()))
    await this.#pool.end()
  }

  async #openDesk(options: DeskOptions): Promise<ChromiumDesk> {
    const { hosts, limits } = options
    const onBlocked = (refusal: Refusal) => options.onBlocked?.(refusal)
    const leave = () => {
      this.#pool.leave()
      this.#places.give()
    }
    let proxy: EgressProxy | undefined
    try {
      if (this.isGuarded) proxy = await openEgressProxy({ hosts, maxBytes: limits.bytes, onBlocked })
      const desk = await ChromiumDesk.open(
        {
          open: (state) => this.#openContext({ plan: this.#plan, options, state, proxy: proxy?.settings }),
          get fault() {
            return proxy?.error
          },
          leave: async () => {
            this.#desks.delete(desk)
            await proxy?.close()
            leave()
          }
        },
        options
      )
      this.#desks.add(desk)
      return desk
    } catch (err) {
      await proxy?.close()
      leave()
      throw err
    }
  }

  // The browser, or the page, may crash meanwhile, also several times in a row: where memory is short, or another run's page is hostile.
  async #openContext(start: ContextStart): Promise<DeskContext> {
    for (let attempt = 1; ; attempt++) {
      const running = await this.#pool.get()
      try {
        // Not every call to a browser settles when it ends.
        const opening = unlessAborted(running.ended, () => DeskContext.open(running, start))
        const context = await withinTime(opening, this.#plan.launchTimeout)
        if (context !== LATE) return context
      } catch (cause) {
        if (cause instanceof RUN_ERR_BROWSER_FAILED) throw cause
        if (attempt === MAX_OPENINGS) throw new RUN_ERR_BROWSER_FAILED('it opens no page', { cause })
        continue
      }
      // Its other desks do not get far either.
      await running.end()
      throw new RUN_ERR_BROWSER_FAILED('it does not respond')
    }
  }
}

const ignore = () => undefined
