import {
  findFaults,
  formatFaults,
  isPromise,
  randomId,
  SessionFieldsSchema,
  SessionForkSchema,
  sessionKeyText,
  type Awaitable,
  type LogEntry,
  type MessagePage,
  type MessageQuery,
  type NumberedPart,
  type RunInput,
  type Runnable,
  type Session,
  type SessionChange,
  type SessionFork,
  type SessionIndex,
  type SessionKey,
  type SessionPage,
  type SessionQuery,
  type SessionRun,
  type SessionSettings,
  type StoredSession,
  type Stores
} from '@svc/contract'
import {
  RUN_ERR_BAD_SESSION,
  RUN_ERR_LOG_GONE,
  RUN_ERR_NO_COMPACTION,
  RUN_ERR_SESSION_NOT_FOUND,
  RUN_ERR_SESSIONS_NOT_KEPT
} from '@svc/contract/errors'
import type { Surfaces } from '../access/surfaces.ts'
import type { Run } from '../engine/run.ts'
import type { CallerOptions, StartOptions } from '../engine/start-options.ts'
import {
  AFTER_ALL,
  isEnd,
  LogReader,
  type EntryReader,
  type LogHost,
  type RunNotice,
  type SessionNotices,
  type TransientParts
} from '../engine/log/log-reader.ts'
import {
  formatPosition,
  parsePosition,
  presentOf,
  SessionTails,
  type ChannelPosition,
  type FollowedTail
} from './session-tails.ts'

/** The source of a reader. */
export interface ChannelHost extends LogHost {
  readonly tails: Pick<SessionTails, 'follow'>
  readonly notices: Pick<SessionNotices, 'follow'>
}

// Notices that a reader has not taken yet.
const MAX_NOTICES = 64

/** Reads the logs of a session's runs one after the other, in the order of their turns; it holds nothing but its position. */
class SessionReader implements EntryReader {
  readonly #host: ChannelHost
  readonly #key: SessionKey
  readonly #signal: AbortSignal | undefined
  // Needed behind the end of a run only.
  #tail: FollowedTail | undefined
  #unfollowNotices: (() => void) | undefined
  #notices: RunNotice[] = []
  #followsTransients = false
  // Where the next log begins.
  #next: ChannelPosition
  #runs: readonly SessionRun[] = []
  #run: SessionRun | undefined
  // Of the run under way; undefined between two runs.
  #log: LogReader | undefined
  #endsRun = false
  #news = false
  #onNews: (() => void) | undefined
  #ended = false
  #suspended = false
  #fault: Error | undefined
  #isClosed = false
  readonly #leave = () => this.#wake()

  /**
   * @param signal ends it when it aborts
   * @param first the run that it begins with, if it is known
   */
  constructor(
    host: ChannelHost,
    key: SessionKey,
    position: ChannelPosition,
    signal?: AbortSignal,
    first?: SessionRun
  ) {
    this.#host = host
    this.#key = key
    this.#next = position
    this.#signal = signal
    if (first !== undefined) this.#follow(first, position.seq)
    signal?.addEventListener('abort', this.#leave, { once: true })
  }

  get runId(): string {
    return this.#run?.runId ?? ''
  }

  get ordinal(): number {
    return this.#run?.ordinal ?? this.#next.ordinal
  }

  get after(): number {
    return this.#log?.after ?? this.#next.seq
  }

  get endsRun(): boolean {
    return this.#endsRun
  }

  get ended(): boolean {
    return this.#ended
  }

  get suspended(): boolean {
    return this.#suspended
  }

  get fault(): Error | undefined {
    return this.#fault
  }

  followTransients(): void {
    if (this.#followsTransients) return
    this.#followsTransients = true
    this.#log?.followTransients()
    this.#unfollowNotices = this.#host.notices.follow(sessionKeyText(this.#key), (runId, notice) => {
      this.#notices.push({ ...notice, runId })
      if (this.#notices.length > MAX_NOTICES) this.#notices.shift()
      this.#wake()
    })
  }

  takeTransients(): readonly RunNotice[] {
    const notices = this.#notices
    this.#notices = []
    return [...notices, ...(this.#log?.takeTransients() ?? [])]
  }

  /** @throws RUN_ERR_LOG_GONE, RUN_ERR_SESSION_NOT_FOUND if the session is removed meanwhile */
  read(): Awaitable<readonly LogEntry[]> {
    this.#news = this.#endsRun = false
    if (this.#signal?.aborted) {
      this.#ended = true
      return []
    }
    if (this.#log === undefined) return this.#open()
    const entries = this.#log.read()
    return isPromise(entries) ? entries.then((all) => this.#take(all)) : this.#take(entries)
  }

  onNews(callback: () => void): void {
    this.#onNews = callback
    if (this.#news) this.#wake()
    else this.#log?.onNews(() => this.#wake())
  }

  lookAgain(): void {
    this.#tail?.lookAgain()
    if (this.#log === undefined) this.#wake()
    else this.#log.lookAgain()
  }

  close(): void {
    this.#isClosed = true
    this.#onNews = undefined
    this.#tail?.leave()
    this.#unfollowNotices?.()
    this.#log?.close()
    for (const each of [this.#host.closed, this.#signal]) each?.removeEventListener('abort', this.#leave)
  }

  #wake(): void {
    this.#news = true
    const callback = this.#onNews
    this.#onNews = undefined
    callback?.()
  }

  async #open(): Promise<readonly LogEntry[]> {
    const { closed } = this.#host
    // A closed engine begins no other run.
    const isLast = closed?.aborted === true
    const { ordinal, seq } = this.#next
    const tail = (this.#tail ??= this.#followSession())
    if (this.#runs.length === 0) this.#runs = await tail.after(ordinal - 1)
    const [run, ...later] = this.#runs
    this.#runs = later
    if (run === undefined) {
      this.#ended = isLast
      return []
    }
    if (run.ordinal !== ordinal) throw new RUN_ERR_LOG_GONE()
    if (this.#isClosed) return []
    this.#follow(run, seq)
    return this.read()
  }

  // A log that is read learns by itself that the engine closes.
  #followSession(): FollowedTail {
    this.#host.closed?.addEventListener('abort', this.#leave, { once: true })
    return this.#host.tails.follow(this.#key, () => this.#wake())
  }

  #follow(run: SessionRun, seq: number): void {
    this.#run = run
    this.#log = new LogReader(this.#host, run.runId, seq, true)
    if (this.#followsTransients) this.#log.followTransients()
  }

  #take(entries: readonly LogEntry[]): readonly LogEntry[] {
    const log = this.#log!
    if (!log.ended) return entries
    this.#suspended = log.suspended
    this.#fault = log.fault
    this.#ended = log.suspended || log.fault !== undefined
    if (this.#ended) return entries
    if (!log.endsRun) throw new RUN_ERR_LOG_GONE()
    this.#endsRun = true
    this.#next = { ordinal: this.ordinal + 1, seq: 0 }
    log.close()
    this.#log = undefined
    this.#wake()
    return entries
  }
}

/** The parts of an engine that its sessions need. */
export interface SessionHost {
  readonly stores: Stores
  readonly closed: AbortSignal
  readonly transients: TransientParts
  readonly sessionNotices: SessionNotices
  readonly surfaces: Pick<Surfaces, 'find'>
  /** As `RunEngine.faultOf`. */
  faultOf(runId: string): Error | undefined
  /** As `RunEngine.start`. */
  start(runnable: Runnable, input: RunInput, options: StartOptions): Promise<Run>
}

/** How the compaction of a session is started. */
export type CompactionOptions = Omit<
  StartOptions,
  keyof CallerOptions | 'registry' | 'sessionId' | 'afterTurn' | 'compact'
>

/** A part in the channel of a session. */
export interface ChannelPart {
  /** Its place in the channel, which continues after it. */
  readonly id: string
  readonly runId: string
  readonly part: NumberedPart
}

/** What a session begins with, or what is changed of it; wires keep what they need in later turns as its settings. */
export interface SessionFields extends SessionChange {
  settings?: SessionSettings | null
}

/** Bytes of the JSON of the settings of a session, of all wires. */
export const MAX_SETTINGS = 65_536

/** Conversations: `fastify.sessions`. A session exists once it was created, or a run had its turn in it. */
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

  /** The sessions of an owner. @throws REG_ERR_BAD_CURSOR, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async list(query: SessionQuery): Promise<SessionPage> {
    return this.#require().list(query)
  }

  /** The cursor of the page that begins after a session, as the list is now. @throws RUN_ERR_SESSION_NOT_FOUND, and as `list` */
  async cursorAfter(key: SessionKey): Promise<string> {
    const cursor = await this.#require().cursorAfter(key)
    if (cursor === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(key.sessionId)
    return cursor
  }

  /** A page of messages, newest page first; empty if there is no session. @throws as `list` */
  async messages(key: SessionKey, query: MessageQuery): Promise<MessagePage> {
    return this.#require().messages(key, query)
  }

  /** Begins a session before its first run. @throws RUN_ERR_SESSION_EXISTS, RUN_ERR_BAD_SESSION, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async create(key: SessionKey, fields: SessionFields = {}): Promise<StoredSession> {
    const index = this.#require()
    const faults = findFaults(SessionForkSchema, { sessionId: key.sessionId })
    if (faults.length > 0) throw new RUN_ERR_BAD_SESSION(formatFaults(faults))
    requireFields(fields)
    return index.create(key, fields)
  }

  /** What wires keep for later turns of a session; undefined if none were given. @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async settings(key: SessionKey): Promise<SessionSettings | undefined> {
    return this.#require().settings(key)
  }

  /** The runs of a session that had their turns after this ordinal, at most `limit`, in order. @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async runs(key: SessionKey, after: number, limit: number): Promise<SessionRun[]> {
    return this.#require().runs(key, after, limit)
  }

  /** The runs that had their turns before this ordinal, at most `limit`, the last one first. @throws as `runs` */
  async runsBefore(key: SessionKey, before: number, limit: number): Promise<SessionRun[]> {
    return this.#require().runsBefore(key, before, limit)
  }

  /** The ordinal of a run that had its turn; undefined for any other. @throws as `runs` */
  async ordinalOf(key: SessionKey, runId: string): Promise<number | undefined> {
    return this.#require().ordinalOf(key, runId)
  }

  /** Changes a session; null removes. @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_BAD_SESSION, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE */
  async update(key: SessionKey, change: SessionFields): Promise<StoredSession> {
    requireFields(change)
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

  /** The cursor of the page that ends with what a session has of the one it is a fork of; undefined if it is no fork. @throws as `list` */
  async sharedBefore(key: SessionKey): Promise<string | undefined> {
    return this.#require().sharedBefore(key)
  }

  /**
   * Has a summary replace the oldest messages of a session in later prompts, by a run that takes its turn. The run has no part `compaction` if
   * there is nothing to leave out.
   * @param options whose run it is, default the owner of the session, and how it is started
   * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_NO_COMPACTION, and as `RunEngine.start`
   */
  async compact(key: SessionKey, options: CompactionOptions = {}): Promise<Run> {
    const { registry, owner, kind, name, sessionId } = key
    const session = await this.#require().find(key)
    if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(sessionId)
    const runnable = await this.#host.surfaces.find(key)
    if (runnable === undefined) throw new RUN_ERR_NO_COMPACTION(kind, name)
    const principal = { sub: owner, scopes: [] }
    return this.#host.start(runnable, undefined, {
      principal,
      ...options,
      registry,
      sessionId,
      compact: true
    })
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
   * @param key or the session itself, which is then not read again: without `after` the reader begins with the run that was under way, or next,
   * when it was read
   * @param signal ends the reader
   * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_BAD_POSITION, RUN_ERR_LOG_GONE, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
   */
  async open(key: SessionKey | StoredSession, after?: string, signal?: AbortSignal): Promise<SessionReader> {
    const index = this.#require()
    const session = 'lastOrdinal' in key ? key : await index.find(key)
    if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(key.sessionId)
    const position =
      after === undefined ? presentOf(session) : await this.#place(session, parsePosition(after))
    return new SessionReader(this.#channels(), key, position, signal)
  }

  /**
   * A reader of the channel that begins with a run which was just started, and reads nothing else before.
   * @param session as it was before the run, with whose next run the reader begins if the run waits for its turn
   * @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
   */
  async openAt(session: StoredSession, runId: string): Promise<SessionReader> {
    const entered = this.#require().ordinalOf(session, runId)
    const ordinal = isPromise(entered) ? await entered : entered
    const position = { ordinal: ordinal ?? session.lastOrdinal + 1, seq: 0 }
    const first = ordinal === undefined ? undefined : { ordinal, runId }
    return new SessionReader(this.#channels(), session, position, undefined, first)
  }

  #channels(): ChannelHost {
    const tails = (this.#tails ??= new SessionTails(this.#require(), this.#host.stores.log))
    return { ...this.#logs, tails, notices: this.#host.sessionNotices }
  }

  // The place itself, or the beginning of the next run if it is behind the last part of one.
  async #place(session: StoredSession, position: ChannelPosition): Promise<ChannelPosition> {
    const { ordinal, seq } = position
    if (ordinal === session.lastOrdinal + 1 && seq === 0) return position
    if (ordinal > AFTER_ALL) throw new RUN_ERR_LOG_GONE()
    // Runs may have entered since the session was read.
    const [run] = await this.#require().runs(session, ordinal - 1, 1)
    const { stores } = this.#host
    if (run?.ordinal !== ordinal || (await stores.runs.find(run.runId)) === undefined)
      throw new RUN_ERR_LOG_GONE()
    const isOver = await isEnd(stores, run.runId, seq)
    return isOver ? { ordinal: ordinal + 1, seq: 0 } : position
  }

  #require(): SessionIndex {
    const { sessionIndex } = this.#host.stores
    if (sessionIndex === undefined) throw new RUN_ERR_SESSIONS_NOT_KEPT()
    return sessionIndex
  }
}

function requireFields({ settings, ...change }: SessionFields): void {
  const given = Object.entries(change).filter(([, value]) => value !== null && value !== undefined)
  const faults = findFaults(SessionFieldsSchema, Object.fromEntries(given))
  if (faults.length > 0) throw new RUN_ERR_BAD_SESSION(formatFaults(faults))
  if (settings && Buffer.byteLength(JSON.stringify(settings)) > MAX_SETTINGS)
    throw new RUN_ERR_BAD_SESSION(`settings must have at most ${MAX_SETTINGS} bytes of JSON`)
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
