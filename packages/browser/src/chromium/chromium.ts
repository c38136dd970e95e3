import { unlessAborted } from '@svc/runtime/loop'
import { LATE, withinTime, type Browser, type DeskOptions, type Refusal } from '../browser.ts'
import { openEgressProxy, type EgressProxy } from '../egress/egress-proxy.ts'
import { RUN_ERR_BROWSER_BUSY, RUN_ERR_BROWSER_FAILED } from '../errors.ts'
import { DeskContext, type ContextStart } from './desk-context.ts'
import { ChromiumDesk } from './desk.ts'
import { launchBrowser, type RunningBrowser } from './launch.ts'
import { planChromium, type ChromiumOptions, type ChromiumPlan } from './plan-chromium.ts'

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
