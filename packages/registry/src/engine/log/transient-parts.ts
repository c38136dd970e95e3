import type { PartOf } from '@svc/contract'

/** A part for the readers of the moment; it has no number and no place in the log. */
export interface TransientPart {
  readonly json: string
  readonly part: PartOf<'data'> & { at: number }
}

/** Passes the transient parts of runs on to their readers in this process. */
export class TransientParts {
  readonly #readers = new Map<string, Set<(part: TransientPart) => void>>()
  // For readers that come later, too.
  readonly #notices = new Map<string, TransientPart>()

  /** Calls `listener` with each transient part of a run, until the returned function is called. */
  follow(runId: string, listener: (part: TransientPart) => void): () => void {
    const readers = this.#readers.get(runId) ?? new Set()
    this.#readers.set(runId, readers.add(listener))
    const notice = this.#notices.get(runId)
    if (notice !== undefined) listener(notice)
    return () => {
      readers.delete(listener)
      if (readers.size === 0 && this.#readers.get(runId) === readers) this.#readers.delete(runId)
    }
  }

  /** Publishes a part that also later readers get, until it is replaced, or withdrawn by undefined. */
  notify(runId: string, notice: TransientPart | undefined): void {
    if (notice === undefined) return void this.#notices.delete(runId)
    this.#notices.set(runId, notice)
    this.publish(runId, notice)
  }

  publish(runId: string, part: TransientPart): void {
    for (const listener of this.#readers.get(runId) ?? []) listener(part)
  }
}

// Per reader: what a reader does not take in time is dropped, the oldest first.
const MAX_PARTS = 64
const MAX_LENGTH = 65_536

/** The transient parts that one reader has not taken yet, within limits. */
export class TransientInbox {
  #parts: TransientPart[] = []
  #length = 0

  add(part: TransientPart): void {
    this.#parts.push(part)
    this.#length += part.json.length
    while (this.#parts.length > MAX_PARTS || this.#length > MAX_LENGTH)
      this.#length -= this.#parts.shift()!.json.length
  }

  /** Returns the parts, oldest first, and forgets them. */
  take(): readonly TransientPart[] {
    const parts = this.#parts
    if (parts.length === 0) return parts
    this.#parts = []
    this.#length = 0
    return parts
  }
}
