import {
  findFaults,
  formatFaults,
  randomId,
  RUN_ERR_BAD_POSITION,
  RUN_ERR_BAD_SESSION,
  RUN_ERR_LOG_GONE,
  RUN_ERR_SESSION_NOT_FOUND,
  RUN_ERR_SESSIONS_NOT_KEPT,
  SessionFieldsSchema,
  SessionForkSchema,
  type MessagePage,
  type MessageQuery,
  type NumberedPart,
  type Session,
  type SessionChange,
  type SessionFork,
  type SessionIndex,
  type SessionKey,
  type SessionPage,
  type SessionQuery,
  type StoredSession,
  type Stores
} from '@svc/contract'
import { isEnd, type LogHost } from '../engine/log/log-reader.ts'
import type { TransientParts } from '../engine/log/transient-parts.ts'
import type { SessionNotices } from '../turns/session-notices.ts'
import { formatPosition, parsePosition, presentOf, type ChannelPosition } from './channel-position.ts'
import { SessionReader } from './session-reader.ts'
import { SessionTails } from './session-tails.ts'

/** The parts of an engine that its sessions need. */
export interface SessionHost {
  readonly stores: Stores
  readonly closed: AbortSignal
  readonly transients: TransientParts
  readonly sessionNotices: SessionNotices
  /** As `RunEngine.faultOf`. */
  faultOf(runId: string): Error | undefined
}

/** A part in the channel of a session. */
export interface ChannelPart {
  /** Its place in the channel, which continues after it. */
  readonly id: string
  readonly runId: string
  readonly part: NumberedPart
}

/** Conversations: `fastify.sessions`. A session exists once a run had its turn in it. */
export class Sessions {
  readonly #host: SessionHost
  readonly #logs: LogHost
  #tails: SessionTails | undefined

  constructor(host: SessionHost) {
    const { stores, closed, transients } = host
    this.#host = host
    this.#logs = {
      stores,
      closed,
      faultOf: (runId) => host.faultOf(runId),
      followTransients: (runId, listener) => transients.follow(runId, listener)
    }
  }

  /** Undefined if there is none. @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async find(key: SessionKey): Promise<StoredSession | undefined> {
    return this.#require().find(key)
  }

  /** The sessions of an owner, last changed first. @throws REG_ERR_BAD_CURSOR, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async list(query: SessionQuery): Promise<SessionPage> {
    return this.#require().list(query)
  }

  /** A page of messages, newest page first; empty if there is no session. @throws as `list` */
  async messages(key: SessionKey, query: MessageQuery): Promise<MessagePage> {
    return this.#require().messages(key, query)
  }

  /** Changes title or metadata. @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_BAD_SESSION, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async update(key: SessionKey, change: SessionChange): Promise<StoredSession> {
    const given = Object.entries(change).filter(([, value]) => value !== null && value !== undefined)
    const faults = findFaults(SessionFieldsSchema, Object.fromEntries(given))
    if (faults.length > 0) throw new RUN_ERR_BAD_SESSION(formatFaults(faults))
    const session = await this.#require().update(key, change)
    if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(key.sessionId)
    return session
  }

  /**
   * Begins a session whose history is that of another one up to the turn of a run, default its newest turn. They share these messages.
   * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_NO_TURN, RUN_ERR_SESSION_EXISTS, RUN_ERR_BAD_SESSION, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
   */
  async fork(key: SessionKey, given: SessionFork = {}): Promise<StoredSession> {
    const faults = findFaults(SessionForkSchema, given)
    if (faults.length > 0) throw new RUN_ERR_BAD_SESSION(formatFaults(faults))
    const { runId, sessionId = randomId() } = given
    const session = await this.#require().fork(key, sessionId, runId)
    if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(key.sessionId)
    return session
  }

  /** The forks of a session that exist, and theirs. @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async forks(key: SessionKey): Promise<SessionKey[]> {
    return this.#require().forks(key)
  }

  /**
   * Follows a session over all its runs, in the order of their turns, with future ones, until the signal aborts.
   * @param after the id of a part; default the beginning of the run under way, or of the next one
   * @throws the errors of `open`
   */
  async *parts(key: SessionKey, after?: string, signal?: AbortSignal): AsyncGenerator<ChannelPart, void> {
    const reader = await this.open(key, after, signal)
    try {
      while (!reader.ended) {
        const entries = await reader.read()
        const { runId, ordinal } = reader
        for (const { seq, part } of entries) {
          yield { id: formatPosition({ ordinal, seq }), runId, part }
          if (signal?.aborted) return
        }
        if (entries.length === 0 && !reader.ended)
          await new Promise<void>((resolve) => reader.onNews(resolve))
      }
    } finally {
      reader.close()
    }
  }

  /**
   * A reader of the channel, which a surface projects onto its wire.
   * @param signal ends the reader
   * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_BAD_POSITION, RUN_ERR_LOG_GONE, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
   */
  async open(key: SessionKey, after?: string, signal?: AbortSignal): Promise<SessionReader> {
    const index = this.#require()
    const session = await index.find(key)
    if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(key.sessionId)
    const position =
      after === undefined ? presentOf(session) : await this.#place(session, parsePosition(after))
    const tails = (this.#tails ??= new SessionTails(index, this.#host.stores.log))
    const host = { ...this.#logs, tails, notices: this.#host.sessionNotices }
    return new SessionReader(host, key, position, signal)
  }

  // The place itself, or the beginning of the next run if it is behind the last part of one.
  async #place(session: StoredSession, position: ChannelPosition): Promise<ChannelPosition> {
    const { ordinal, seq } = position
    const { lastOrdinal } = session
    if (ordinal > lastOrdinal + 1 || (ordinal > lastOrdinal && seq > 0)) throw new RUN_ERR_BAD_POSITION()
    if (ordinal > lastOrdinal) return position
    const [run] = await this.#require().runs(session, ordinal - 1, 1)
    const { stores } = this.#host
    if (run?.ordinal !== ordinal || (await stores.runs.find(run.runId)) === undefined)
      throw new RUN_ERR_LOG_GONE()
    const isOver = await isEnd(stores, run.runId, seq)
    if (isOver === undefined) throw new RUN_ERR_BAD_POSITION()
    return isOver ? { ordinal: ordinal + 1, seq: 0 } : position
  }

  #require(): SessionIndex {
    const { sessionIndex } = this.#host.stores
    if (sessionIndex === undefined) throw new RUN_ERR_SESSIONS_NOT_KEPT()
    return sessionIndex
  }
}

/** A session as clients see it. */
export function toSession(stored: StoredSession): Session {
  const { sessionId, kind, name, title, createdAt, updatedAt, turns, activeRun, metadata } = stored
  return {
    sessionId,
    kind,
    name,
    ...(title !== null && { title }),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    turns,
    ...(activeRun !== null && { activeRun }),
    ...(metadata !== null && { metadata })
  }
}
