import { RUN_ERR_BROWSER_FAILED } from '../../errors.ts'
import { unlessAborted } from '../../guards/guard.ts'
import type { Browser, DeskOptions, StorageState } from '../browser.ts'
import { BrowserPool } from './browser-pool.ts'
import type { ChromiumOptions } from './chromium-options.ts'
import { planChromium, type ChromiumPlan } from './plan-chromium.ts'
import { DeskContext } from './desk-context.ts'
import { ChromiumDesk } from './desk.ts'
import { launchBrowser } from './launch.ts'
import { Places } from './places.ts'

/**
 * A Chromium for browser agents. Needs the npm package `playwright-core`, and a Chromium, e.g. the Debian package
 * `chromium-headless-shell`. Nothing is loaded or started before the first desk opens.
 * @throws RUN_ERR_BAD_BROWSER
 */
export function chromium(options: ChromiumOptions = {}): Browser {
  return new Chromium(planChromium(options))
}

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
    const closing = this.#closing.signal
    const signal = AbortSignal.any([options.signal, closing])
    await this.#places.take(this.#plan.openTimeout, signal)
    this.#pool.enter()
    const leave = () => {
      this.#pool.leave()
      this.#places.give()
    }
    const opening = ChromiumDesk.open(
      {
        open: (state) => this.#openContext(options, state),
        leave: () => (this.#desks.delete(desk), leave())
      },
      options
    )
    let desk: ChromiumDesk
    try {
      desk = await unlessAborted(signal, () => opening)
    } catch (err) {
      // It may still be opening.
      opening.then((late) => late.close(), leave)
      throw err
    }
    this.#desks.add(desk)
    return desk
  }

  async close(): Promise<void> {
    this.#closing.abort(new RUN_ERR_BROWSER_FAILED('it was closed'))
    this.#closing = new AbortController()
    await Promise.all([...this.#desks].map((desk) => desk.close()))
    await this.#pool.end()
  }

  // A browser that crashes meanwhile is replaced once.
  async #openContext(options: DeskOptions, state: StorageState | undefined): Promise<DeskContext> {
    for (let attempt = 1; ; attempt++) {
      const { browser } = await this.#pool.get()
      try {
        return await DeskContext.open(browser, this.#plan, options, state)
      } catch (cause) {
        if (attempt === 2 || browser.isConnected())
          throw new RUN_ERR_BROWSER_FAILED('it opens no page', { cause })
      }
    }
  }
}
