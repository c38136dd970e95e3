import type { TransientPart } from '../engine/log/transient-parts.ts'

type Listener = (runId: string, notice: TransientPart) => void

/** Shows the runs of this process that wait for their turn to the readers of their session. */
export class SessionNotices {
  readonly #readers = new Map<string, Set<Listener>>()
  // By session and run, for readers that come later, too.
  readonly #notices = new Map<string, Map<string, TransientPart>>()

  /** Calls `listener` with each notice of a session, until the returned function is called. */
  follow(sessionKey: string, listener: Listener): () => void {
    const readers = this.#readers.get(sessionKey) ?? new Set()
    // An object of its own: the same function may follow twice.
    const own: Listener = (runId, notice) => listener(runId, notice)
    this.#readers.set(sessionKey, readers.add(own))
    for (const [runId, notice] of this.#notices.get(sessionKey) ?? []) listener(runId, notice)
    return () => {
      readers.delete(own)
      if (readers.size === 0 && this.#readers.get(sessionKey) === readers) this.#readers.delete(sessionKey)
    }
  }

  /** Publishes the notice of a run, until it is replaced, or withdrawn by undefined. */
  notify(sessionKey: string, runId: string, notice: TransientPart | undefined): void {
    const notices = this.#notices.get(sessionKey) ?? new Map<string, TransientPart>()
    if (notice === undefined) notices.delete(runId)
    else notices.set(runId, notice)
    if (notices.size === 0) this.#notices.delete(sessionKey)
    else this.#notices.set(sessionKey, notices)
    if (notice === undefined) return
    for (const listener of this.#readers.get(sessionKey) ?? []) listener(runId, notice)
  }
}
