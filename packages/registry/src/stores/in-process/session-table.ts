import { isOfSession, sessionKeyText, type SessionKey, type SessionKeyQuery } from '@svc/contract'
import { SessionFollowers } from '@svc/contract/stores'
import { RecentMap } from './counter-store.ts'
import { SessionEntry } from './session-entry.ts'
import type { KeptTurn } from './turn-tree.ts'

// Keeps at least this many recently used sessions, and at most twice as many.
const MAX_SESSIONS = 10_000

/** The sessions that the in-process `SessionStore` and `SessionIndex` share. */
export class SessionTable {
  readonly followers = new SessionFollowers()
  readonly #sessions = new RecentMap<SessionEntry>(MAX_SESSIONS, (session) => void this.#leave(session))
  // The last changed listed session of each owner, from which the others follow.
  readonly #newest = new Map<string, SessionEntry>()
  #changes = 0

  /** The session, which counts as used. */
  get(text: string): SessionEntry | undefined {
    return this.#sessions.get(text)
  }

  /** The session, which begins if it is new. */
  ensure(key: SessionKey): SessionEntry {
    const text = sessionKeyText(key)
    let session = this.#sessions.get(text)
    if (session === undefined) this.#sessions.set(text, (session = new SessionEntry(key, text)))
    return session
  }

  /** The newest of an owner's listed sessions; `older` leads to the others. */
  newestOf(owner: string): SessionEntry | undefined {
    return this.#newest.get(owner)
  }

  /** The session has changed. @param isListed true if it is to be in the list of its owner from now on */
  changed(session: SessionEntry, isListed = false): void {
    session.updatedAt = Date.now()
    session.order = ++this.#changes
    if (!session.isListed && !isListed) return
    const newest = this.#newest.get(session.owner)
    if (newest === session) return
    if (session.isListed) this.#unlist(session)
    session.isListed = true
    session.older = this.#newest.get(session.owner)
    if (session.older !== undefined) session.older.newer = session
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
    origin.forks.add(fork)
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
    origin?.forks.delete(session)
    for (const fork of forks) {
      fork.origin = origin
      origin?.forks.add(fork)
    }
    return session.tree.release()
  }

  #unlist(session: SessionEntry): void {
    if (!session.isListed) return
    const { older, newer, owner } = session
    if (older !== undefined) older.newer = newer
    if (newer !== undefined) newer.older = older
    else if (older !== undefined) this.#newest.set(owner, older)
    else this.#newest.delete(owner)
    session.isListed = false
    session.older = session.newer = undefined
  }
}

function keyOf({ registry, owner, kind, name, sessionId }: SessionKey): SessionKey {
  return { registry, owner, kind, name, sessionId }
}
