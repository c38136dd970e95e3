import type { RunMetadata, RunnableKind, SessionKey, SessionMessage } from '@svc/contract'
import { isOwnTurn, runIdOfTurn } from '@svc/contract/stores'
import { TurnTree, type KeptTurn } from './turn-tree.ts'

// Per session; the oldest go first. At most twice as many are kept.
const MAX_RUNS = 10_000

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
  readonly tree: TurnTree
  /** The session that it is a fork of, while that exists. */
  origin: SessionEntry | undefined = undefined
  readonly forks = new Set<SessionEntry>()
  #runs: string[] = []

  constructor({ registry, owner, kind, name, sessionId }: SessionKey, text: string, tree = new TurnTree()) {
    this.registry = registry
    this.owner = owner
    this.kind = kind
    this.name = name
    this.sessionId = sessionId
    this.text = text
    this.tree = tree
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

  /** Adds a turn that follows `previous`; false if it is the newest one. */
  append(turnId: string, messages: readonly SessionMessage[], previous: KeptTurn | undefined): boolean {
    if (!this.tree.append(turnId, messages, previous)) return false
    if (this.turns++ === 0) this.first = messages
    return true
  }

  /** Removes the turns of members and steps of these runs; true if no messages of its own are left. */
  removeTurns(runIds: ReadonlySet<string>): boolean {
    this.turns -= this.tree.remove(({ turnId }) => !isOwnTurn(turnId) && runIds.has(runIdOfTurn(turnId)))
    if (this.title === undefined) this.first = this.tree.oldest?.messages
    return !this.tree.hasOwn
  }
}
