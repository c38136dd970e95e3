import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds that a closing app gives streams, after the runs have ended, to reach their clients. */
const GRACE = 1_000

/** The replies that are streams: a closing app breaks off those whose client does not read. */
export class OpenStreams {
  readonly #open = new Set<ServerResponse>()
  #onEmpty: (() => void) | undefined

  add(raw: ServerResponse): void {
    if (raw.destroyed) return
    this.#open.add(raw)
    raw.once('close', () => {
      this.#open.delete(raw)
      if (this.#open.size === 0) this.#onEmpty?.()
    })
  }

  /** Resolves when none is open. */
  async close(): Promise<void> {
    if (this.#open.size === 0) return
    const empty = new Promise<void>((resolve) => (this.#onEmpty = resolve))
    const overdue = new AbortController()
    await Promise.race([empty, pause(GRACE, undefined, overdue).catch(() => {})])
    overdue.abort()
    for (const raw of this.#open) raw.destroy()
  }
}
