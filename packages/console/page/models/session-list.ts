import type { Session } from '@svc/contract'
import { signal as createSignal } from '@preact/signals'
import { listSessions } from '../api/resources.ts'

const PAGE = 100

/** The visitor's sessions, last changed first: the first page is read again and again, older ones when they are scrolled to. */
export class SessionList {
  readonly sessions = createSignal<readonly Session[]>([])
  readonly error = createSignal<unknown>(undefined)
  readonly isLoaded = createSignal(false)
  readonly hasMore = createSignal(false)
  #cursor: string | null = null
  #isPaging = false

  /** Reads those that were changed last; what has moved up is no longer further down. */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      const page = await listSessions({ limit: PAGE }, { signal })
      if (!this.isLoaded.value) this.#setCursor(page.nextCursor)
      const known = new Set(page.sessions.map(keyOf))
      const last = page.sessions.at(-1)
      const isOlder = (session: Session) => last !== undefined && session.updatedAt <= last.updatedAt
      const rest = this.sessions.value.filter((each) => !known.has(keyOf(each)) && isOlder(each))
      this.sessions.value = [...page.sessions, ...rest]
      this.error.value = undefined
    } catch (err) {
      if (!signal.aborted) this.error.value = err
    } finally {
      if (!signal.aborted) this.isLoaded.value = true
    }
  }

  /** Reads the page after the oldest one that is known. */
  async loadMore(): Promise<void> {
    if (this.#cursor === null || this.#isPaging) return
    this.#isPaging = true
    try {
      const page = await listSessions({ limit: PAGE, cursor: this.#cursor })
      const known = new Set(this.sessions.value.map(keyOf))
      this.sessions.value = [
        ...this.sessions.value,
        ...page.sessions.filter((each) => !known.has(keyOf(each)))
      ]
      this.#setCursor(page.nextCursor)
    } catch (err) {
      this.error.value = err
    } finally {
      this.#isPaging = false
    }
  }

  #setCursor(cursor: string | null): void {
    this.#cursor = cursor
    this.hasMore.value = cursor !== null
  }
}

const keyOf = ({ kind, name, sessionId }: Session) => JSON.stringify([kind, name, sessionId])
