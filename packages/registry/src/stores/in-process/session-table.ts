import {
  isOfSession,
  isShort,
  sessionKeyText,
  type RunMetadata,
  type RunnableKind,
  type SessionKey,
  type SessionKeyQuery,
  type SessionMessage,
  type SessionSettings
} from '@svc/contract'
import { isOwnTurn, runIdOfTurn, SessionFollowers } from '@svc/contract/stores'
import { RecentMap } from './aging-map.ts'
import { KeptText, TextBlocks } from './kept-text.ts'
import { TurnTree, type KeptTurn } from './turn-tree.ts'

/** Characters of the JSON of a turn, about, up to which it is packed. */
const MAX_PACKED = 4_096

/** The only turn of a session. Most sessions have no other, and nobody asks for its messages. */
class PackedTurn extends KeptText {
  readonly turnId: string

  constructor(turnId: string, messages: readonly SessionMessage[], blocks: TextBlocks) {
    super(JSON.stringify(messages), blocks)
    this.turnId = turnId
  }

  get messages(): SessionMessage[] {
    return JSON.parse(this.read()) as SessionMessage[]
  }
}

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
  metadata: RunMetadata | null = null
  settings: SessionSettings | null = null
  readonly createdAt = Date.now()
  updatedAt = this.createdAt
  /** Over those of all sessions that changed before. */
  order = 0
  turns = 0
  isListed = false
  /** The neighbors in the list of its owner: which changed before it, and after it. */
  older: SessionEntry | undefined = undefined
  newer: SessionEntry | undefined = undefined
  /** Another listed session of its owner with its id. */
  namesake: SessionEntry | undefined = undefined
  /** The ordinal of the last run that entered; 0 if none has. */
  lastOrdinal = 0
  /** The session that it is a fork of, while that exists. */
  origin: SessionEntry | undefined = undefined
  forks: Set<SessionEntry> | undefined = undefined
  // Undefined while it has one packed turn at most.
  #tree: TurnTree | undefined
  #packed: PackedTurn | undefined = undefined
  // The messages of the first turn, for a title that was not asked for yet.
  #first: readonly SessionMessage[] | undefined = undefined
  // In the order in which they entered; most sessions have one.
  #runs: string | string[] | undefined = undefined

  constructor({ registry, owner, kind, name, sessionId }: SessionKey, text: string, tree?: TurnTree) {
    this.registry = registry
    this.owner = owner
    this.kind = kind
    this.name = name
    this.sessionId = sessionId
    this.text = text
    this.#tree = tree
  }

  get lastRun(): string | undefined {
    return typeof this.#runs === 'string' ? this.#runs : this.#runs?.at(-1)
  }

  /** Adds a run; false if it has entered before. */
  enter(runId: string): boolean {
    const runs = this.#runs
    if (typeof runs === 'string' ? runs === runId : runs?.includes(runId)) return false
    this.lastOrdinal++
    if (runs === undefined) this.#runs = runId
    else if (typeof runs === 'string') this.#runs = [runs, runId]
    else if (runs.push(runId) > MAX_RUNS * 2) this.#runs = runs.slice(-MAX_RUNS)
    return true
  }

  /** The runs with the ordinals over `after`, at most `limit`, with the ordinal of the first one. */
  runsAfter(after: number, limit: number): { first: number; runIds: string[] } {
    const runs = typeof this.#runs === 'string' ? [this.#runs] : (this.#runs ?? [])
    const oldest = this.lastOrdinal - runs.length + 1
    const first = Math.max(after + 1, oldest)
    return { first, runIds: runs.slice(first - oldest, first - oldest + limit) }
  }

  /** The ordinal of a run; undefined if it has not entered, or long ago. */
  ordinalOf(runId: string): number | undefined {
    const runs = typeof this.#runs === 'string' ? [this.#runs] : (this.#runs ?? [])
    const at = runs.lastIndexOf(runId)
    return at < 0 ? undefined : this.lastOrdinal - runs.length + 1 + at
  }

  /** Its turns, unless it is packed. */
  get tree(): TurnTree {
    return (this.#tree ??= new TurnTree())
  }

  /** Its newest turn, unless it is packed. */
  get newest(): KeptTurn | undefined {
    return this.#tree?.newest
  }

  /** Unpacks its turn: it is in use. */
  unpack(blocks: TextBlocks): void {
    if (this.#packed === undefined) return
    const { turnId, messages } = this.#packed
    this.#first = messages
    this.tree.append(turnId, messages, undefined)
    this.#forget(blocks)
  }

  /** The messages of its first turn. */
  get first(): readonly SessionMessage[] | undefined {
    return this.#packed?.messages ?? this.#first
  }

  /** Adds a turn that follows `previous`; false if it is the newest one. */
  append(
    turnId: string,
    messages: readonly SessionMessage[],
    previous: KeptTurn | undefined,
    blocks: TextBlocks
  ): boolean {
    if (this.#tree === undefined && isShort(messages, MAX_PACKED)) {
      this.#packed = new PackedTurn(turnId, messages, blocks)
      this.turns++
      return true
    }
    if (!this.tree.append(turnId, messages, previous)) return false
    if (this.turns++ === 0) this.#first = messages
    return true
  }

  /** Removes the turns of members and steps of these runs; true if no messages of its own are left. */
  removeTurns(runIds: ReadonlySet<string>): boolean {
    this.turns -= this.tree.remove(({ turnId }) => !isOwnTurn(turnId) && runIds.has(runIdOfTurn(turnId)))
    if (this.title === undefined) this.#first = this.tree.oldest?.messages
    return !this.tree.hasOwn
  }

  /** It is removed: the number of its own messages that forks still have. */
  release(blocks: TextBlocks): number {
    this.#forget(blocks)
    return this.#tree?.release() ?? 0
  }

  #forget(blocks: TextBlocks): void {
    this.#packed?.drop(blocks)
    this.#packed = undefined
  }
}

// Keeps at least this many recently used sessions, and at most twice as many.
const MAX_SESSIONS = 10_000

/** The sessions that the in-process `SessionStore` and `SessionIndex` share. */
export class SessionTable {
  readonly followers = new SessionFollowers()
  readonly blocks = new TextBlocks()
  readonly #sessions = new RecentMap<SessionEntry>(MAX_SESSIONS, (session) => void this.#leave(session))
  // The listed sessions of each owner, in the order of their changes: both ends.
  readonly #newest = new Map<string, SessionEntry>()
  readonly #oldest = new Map<string, SessionEntry>()
  // The listed sessions by their owners and ids: one of each, from which its namesakes follow.
  readonly #named = new Map<string, SessionEntry>()
  #changes = 0

  /** The session, which counts as used. */
  get(text: string): SessionEntry | undefined {
    const session = this.#sessions.get(text)
    session?.unpack(this.blocks)
    return session
  }

  /** Begins a session that is not there. @param text its key as a text */
  begin(key: SessionKey, text: string): SessionEntry {
    const session = new SessionEntry(key, text)
    this.#sessions.set(text, session)
    return session
  }

  /** The newest of an owner's listed sessions; `older` leads to the others. */
  newestOf(owner: string): SessionEntry | undefined {
    return this.#newest.get(owner)
  }

  /** The oldest of an owner's listed sessions; `newer` leads to the others. */
  oldestOf(owner: string): SessionEntry | undefined {
    return this.#oldest.get(owner)
  }

  /** One of an owner's listed sessions with an id; `namesake` leads to the others. */
  namedOf(owner: string, sessionId: string): SessionEntry | undefined {
    return this.#named.get(toNames(owner, sessionId))
  }

  /** The session has changed. @param isListed true if it is to be in the list of its owner from now on */
  changed(session: SessionEntry, isListed = false): void {
    session.updatedAt = Date.now()
    session.order = ++this.#changes
    if (!session.isListed && !isListed) return
    const newest = this.#newest.get(session.owner)
    if (newest === session) return
    if (session.isListed) this.#unlink(session)
    else {
      session.isListed = true
      const names = toNames(session.owner, session.sessionId)
      session.namesake = this.#named.get(names)
      this.#named.set(names, session)
    }
    session.older = this.#newest.get(session.owner)
    if (session.older === undefined) this.#oldest.set(session.owner, session)
    else session.older.newer = session
    this.#newest.set(session.owner, session)
  }

  /** As `OwnedSessions.keys`. */
  keys({ owner, sessionId, limit }: SessionKeyQuery): SessionKey[] {
    const found: SessionKey[] = []
    for (const session of this.#sessions.values()) {
      if (session.owner !== owner) continue
      if (sessionId === undefined || isOfSession(session.sessionId, sessionId)) found.push(session)
      if (found.length === limit) break
    }
    return found.map(keyOf)
  }

  /** Begins a session that shares the messages of another one up to a turn. */
  fork(origin: SessionEntry, key: SessionKey, last: KeptTurn | undefined): SessionEntry {
    const text = sessionKeyText(key)
    const fork = new SessionEntry(key, text, origin.tree.fork(last))
    fork.turns = fork.tree.length
    fork.origin = origin
    ;(origin.forks ??= new Set()).add(fork)
    this.#sessions.set(text, fork)
    return fork
  }

  /** Removes a session; returns the number of its own messages that forks still have. */
  remove(text: string): number {
    const session = this.#sessions.get(text)
    if (session === undefined) return 0
    this.#sessions.delete(text)
    const left = this.#leave(session)
    this.followers.notify(text)
    return left
  }

  #leave(session: SessionEntry): number {
    this.#unlist(session)
    const { origin, forks } = session
    origin?.forks?.delete(session)
    for (const fork of forks ?? []) {
      fork.origin = origin
      origin?.forks?.add(fork)
    }
    return session.release(this.blocks)
  }

  #unlist(session: SessionEntry): void {
    if (!session.isListed) return
    this.#unlink(session)
    session.isListed = false
    const { owner, sessionId, namesake } = session
    const names = toNames(owner, sessionId)
    session.namesake = undefined
    let before = this.#named.get(names)
    if (before === session) {
      if (namesake === undefined) this.#named.delete(names)
      else this.#named.set(names, namesake)
      return
    }
    while (before !== undefined && before.namesake !== session) before = before.namesake
    if (before !== undefined) before.namesake = namesake
  }

  #unlink(session: SessionEntry): void {
    const { older, newer, owner } = session
    if (older !== undefined) older.newer = newer
    else if (newer !== undefined) this.#oldest.set(owner, newer)
    else this.#oldest.delete(owner)
    if (newer !== undefined) newer.older = older
    else if (older !== undefined) this.#newest.set(owner, older)
    else this.#newest.delete(owner)
    session.older = session.newer = undefined
  }
}

function toNames(owner: string, sessionId: string): string {
  return `${owner}\u0000${sessionId}`
}

function keyOf({ registry, owner, kind, name, sessionId }: SessionKey): SessionKey {
  return { registry, owner, kind, name, sessionId }
}
