import type { LogEntry, ReadLimit } from '@svc/registry'
import { dropOldest } from '@svc/registry/kit'

/** Called for new parts, and with `true` after the last one. */
export type Wake = (gone?: boolean) => void

type Page = Promise<readonly LogEntry[]>

/** Pages cached for other readers: all who keep up ask for the same two. */
const MAX_PAGES = 4

/** The followers of one log, and the pages read since it last changed. */
export class FollowedLog {
  readonly followers = new Set<Wake>()
  readonly #pages = new Map<string, Page>()

  /** A page, read once for all who ask for it; not cached for a single reader. */
  share(after: number, { entries, bytes }: ReadLimit, read: () => Page): Page {
    if (this.followers.size < 2) return read()
    const key = `${after} ${entries} ${bytes}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const page = read()
    this.#pages.set(key, page)
    dropOldest(this.#pages, MAX_PAGES)
    page.catch(() => {
      if (this.#pages.get(key) === page) this.#pages.delete(key)
    })
    return page
  }

  /** Drops the cached pages, since the log has changed. */
  outdate(): void {
    this.#pages.clear()
  }

  wake(gone: boolean): void {
    for (const follower of [...this.followers]) follower(gone)
  }
}
