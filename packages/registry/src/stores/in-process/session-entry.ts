import type { RunMetadata } from '../../contract/run-metadata.ts'
import type { RunnableKind } from '../../contract/names.ts'
import type { SessionKey, SessionMessage } from '../../contract/ports/session-store.ts'
import type { StoredMessage } from '../../contract/ports/session-index.ts'

// Per session; the oldest go first. At most twice as many are kept.
const MAX_MESSAGES = 10_000
const MAX_RUNS = 10_000

interface KeptTurn {
  readonly turnId: string
  /** The number of its first message, from 1. */
  readonly first: number
  readonly messages: readonly SessionMessage[]
}

/** A session in process memory. One object with few others, since a busy service makes thousands a second. */
export class SessionEntry implements SessionKey {
  readonly registry: string
  readonly owner: string
  readonly kind: RunnableKind
  readonly name: string
  readonly sessionId: string
  /** Its key as a text. */
  readonly text: string
  /** Undefined until one is given, or taken from the first turn. */
  title: string | null | undefined = undefined
  /** The messages of the first turn, for a title that was not asked for yet. */
  first: readonly SessionMessage[] | undefined = undefined
  metadata: RunMetadata | null = null
  readonly createdAt = Date.now()
  updatedAt = this.createdAt
  /** Over those of all sessions that changed before. */
  order = 0
  turns = 0
  isListed = false
  /** The neighbors in the list of its owner: which changed before it, and after it. */
  older: SessionEntry | undefined = undefined
  newer: SessionEntry | undefined = undefined
  /** The ordinal of the last run that entered; 0 if none has. */
  lastOrdinal = 0
  #turns: KeptTurn[] = []
  #runs: string[] = []
  #lastSeq = 0
  #kept = 0

  constructor({ registry, owner, kind, name, sessionId }: SessionKey, text: string) {
    this.registry = registry
    this.owner = owner
    this.kind = kind
    this.name = name
    this.sessionId = sessionId
    this.text = text
  }

  get lastRun(): string | undefined {
    return this.#runs.at(-1)
  }

  /** Adds a run; false if it has entered before. */
  enter(runId: string): boolean {
    if (this.#runs.includes(runId)) return false
    this.#runs.push(runId)
    this.lastOrdinal++
    if (this.#runs.length > MAX_RUNS * 2) this.#runs = this.#runs.slice(-MAX_RUNS)
    return true
  }

  /** The runs with the ordinals over `after`, at most `limit`, with the ordinal of the first one. */
  runsAfter(after: number, limit: number): { first: number; runIds: string[] } {
    const oldest = this.lastOrdinal - this.#runs.length + 1
    const first = Math.max(after + 1, oldest)
    return { first, runIds: this.#runs.slice(first - oldest, first - oldest + limit) }
  }

  /** Adds a turn; false if it is the last one. */
  append(turnId: string, messages: readonly SessionMessage[]): boolean {
    if (this.#turns.at(-1)?.turnId === turnId) return false
    this.#turns.push({ turnId, first: this.#lastSeq + 1, messages })
    this.#lastSeq += messages.length
    this.#kept += messages.length
    if (this.turns++ === 0) this.first = messages
    if (this.#kept > MAX_MESSAGES * 2) this.#forget()
    return true
  }

  /** Removes the turns of members and steps of these runs; true if no messages are left. */
  removeTurns(runIds: ReadonlySet<string>): boolean {
    const left = this.#turns.filter(({ turnId }) => {
      const slash = turnId.indexOf('/')
      return slash === -1 || !runIds.has(turnId.slice(0, slash))
    })
    this.turns -= this.#turns.length - left.length
    this.#turns = left
    this.#kept = left.reduce((sum, { messages }) => sum + messages.length, 0)
    if (this.title === undefined) this.first = left[0]?.messages
    return left.length === 0
  }

  /** At most `limit` messages before `end`, oldest first. */
  messagesBefore(end: number, limit: number): StoredMessage[] {
    const found: StoredMessage[] = []
    for (let at = this.#lastTurnBefore(end); at >= 0 && found.length < limit; at--) {
      const { turnId, first, messages } = this.#turns[at]!
      for (let index = messages.length - 1; index >= 0 && found.length < limit; index--)
        if (first + index < end) found.push({ seq: first + index, turnId, message: messages[index]! })
    }
    return found.toReversed()
  }

  /** True if it has messages before this one. */
  hasBefore(seq: number): boolean {
    return seq > (this.#turns[0]?.first ?? seq)
  }

  // The index of the last turn that begins before this message; -1 if there is none.
  #lastTurnBefore(end: number): number {
    let [low, high] = [0, this.#turns.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#turns[middle]!.first < end) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #forget(): void {
    let from = 0
    while (this.#kept > MAX_MESSAGES) this.#kept -= this.#turns[from++]!.messages.length
    this.#turns = this.#turns.slice(from)
  }
}
