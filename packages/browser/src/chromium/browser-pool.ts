import type { RunningBrowser } from './launch.ts'

/** One browser for all desks: started for the first, ended when none has been open for a while, and replaced when it crashes. */
export class BrowserPool {
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

const ignore = () => undefined
