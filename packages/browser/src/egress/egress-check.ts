import { RUN_ERR_BROWSER_FAILED } from '../errors.ts'
import { probeUdp, type Evaluator } from './direct-traffic.ts'

/** Checks a browser once, in the empty page of whichever desk asks first, for traffic past its proxy. */
export class EgressCheck {
  #hasPassed = false
  #running: Promise<void> | undefined

  /**
   * Resolves once the browser has passed, in this page or in that of another desk.
   * @throws RUN_ERR_BROWSER_FAILED if the browser sends UDP past its proxy, and the error of this page if it crashes or closes meanwhile
   */
  async pass(page: Evaluator): Promise<void> {
    while (!this.#hasPassed) {
      if (this.#running === undefined) return this.#probe(page)
      // The page of another desk may be gone, which says nothing about the browser.
      await this.#running.catch((err: unknown) => {
        if (err instanceof RUN_ERR_BROWSER_FAILED) throw err
      })
    }
  }

  async #probe(page: Evaluator): Promise<void> {
    this.#running = probeUdp(page)
    try {
      await this.#running
      this.#hasPassed = true
    } finally {
      this.#running = undefined
    }
  }
}
