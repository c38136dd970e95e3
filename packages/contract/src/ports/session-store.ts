import { Type, type Static } from '@sinclair/typebox'
import { TextContentPartSchema, ToolErrorSchema, UrlContentPartSchema, type RunMetadata } from '../part.ts'
import type { RunnableKind, SessionKey } from '../names.ts'
import type { Awaitable } from '../awaitable.ts'
import type { RunFence } from './nodes.ts'
import type { RunScope } from './run-store.ts'

const providerOptions = {
  providerOptions: Type.Optional(Type.Unknown({ description: 'Provider data to send back with the message' }))
}

/** A reference to binary content of an earlier message, without its bytes. */
const ContentReferenceSchema = Type.Object(
  {
    type: Type.Union([Type.Literal('image'), Type.Literal('audio'), Type.Literal('file')]),
    mimeType: Type.String(),
    filename: Type.Optional(Type.String()),
    sha256: Type.String(),
    size: Type.Integer({ description: 'Bytes' })
  },
  { title: 'ContentReference' }
)
export type ContentReference = Static<typeof ContentReferenceSchema>

/** One message of a session. */
export const SessionMessageSchema = Type.Union(
  [
    Type.Object({
      role: Type.Literal('user'),
      content: Type.Union([
        Type.String(),
        Type.Array(Type.Union([TextContentPartSchema, UrlContentPartSchema, ContentReferenceSchema]))
      ])
    }),
    Type.Object({
      role: Type.Literal('assistant'),
      text: Type.String(),
      interrupted: Type.Optional(
        Type.Literal(true, {
          description: 'The user interrupted the answer, and `text` is what was delivered of it'
        })
      ),
      files: Type.Optional(
        Type.Array(Type.Union([UrlContentPartSchema, ContentReferenceSchema]), {
          description: 'What the model made beside the text'
        })
      ),
      toolCalls: Type.Optional(
        Type.Array(
          Type.Object({
            toolCallId: Type.String(),
            toolName: Type.String(),
            args: Type.Unknown(),
            providerExecuted: Type.Optional(Type.Boolean({ description: 'The model provider executed it' })),
            ...providerOptions
          })
        )
      ),
      ...providerOptions
    }),
    Type.Object({
      role: Type.Literal('tool'),
      toolCallId: Type.String(),
      toolName: Type.String(),
      result: Type.Optional(Type.Unknown()),
      error: Type.Optional(ToolErrorSchema)
    }),
    Type.Object(
      {
        role: Type.Literal('summary'),
        text: Type.Optional(
          Type.String({ description: 'Left out if the earlier messages were dropped without a summary' })
        ),
        keeps: Type.Integer({
          minimum: 0,
          description: 'The number of messages before it that models still read; `text` replaces earlier ones'
        }),
        cut: Type.Optional(
          Type.Integer({
            minimum: 0,
            description:
              'Models read only the ends of long tool results that are further before it than this many messages'
          })
        )
      },
      { description: 'What models read instead of earlier messages, which stay in the session' }
    )
  ],
  { title: 'SessionMessage' }
)
export type SessionMessage = Static<typeof SessionMessageSchema>
/** What replaces earlier messages of a session in prompts. */
export type SummaryMessage = Extract<SessionMessage, { role: 'summary' }>

/** A conversation that the caller keeps. */
export const ConversationSchema = Type.Array(SessionMessageSchema, {
  maxItems: 1_000,
  description:
    'A conversation that you keep, oldest message first; then no session is loaded or saved. Not together with `sessionId`'
})

/**
 * Ends a turn of a session; a second call does nothing.
 * @param keep true if the run of its holder is suspended: the turn stays its holder's, which takes it again with `lock`. Default false
 */
export type EndTurn = (keep?: boolean) => void

/** The place of a run among the turns of its session. */
export interface TurnPlace {
  /** The number of turns before its own, the one in progress included; 0: it has the turn. */
  readonly position: number
  /** The run that has the turn, unless it is this one. Undefined also if no run of an engine has it. */
  readonly active?: string | undefined
}

/** A place that a run was given. */
export interface PlacedTurn extends TurnPlace {
  /** True if the run has entered the session with its place: it has the turn. */
  readonly entered?: boolean
  /**
   * Gives the place back; does nothing once `lock` was called.
   * @param keep true if the run is suspended: the place stays its own, as in `EndTurn`
   */
  leave(keep?: boolean): void
}

/** Selects sessions of one owner, also those that are in no list. */
export interface SessionKeyQuery {
  owner: string
  /** Only the sessions with this id, and those of its steps, whose ids begin with it and a slash. */
  sessionId?: string
  /** At most this many; 1–1,000. */
  limit: number
}

/** What a store has by sessions, to be removed. */
export interface OwnedSessions {
  /** Sessions of which the store has something, in any order. */
  keys(query: SessionKeyQuery): Awaitable<SessionKey[]>
}

/**
 * Where a run continues a session, whose turns are a tree: each follows an earlier one. Without it a run continues after the newest turn.
 * Further turns of a run follow its own last one.
 */
export interface Continuation {
  readonly runId: string
  /** The run whose turn it follows; null: none, at the beginning. Undefined only with `along`: the newest turn there. */
  readonly after?: string | null | undefined
  /**
   * The session that has that turn, if it is another one: that of the team whose member the run calls. Then it continues after its newest
   * turn of a run on the branch of that turn.
   */
  readonly along?: SessionKey | undefined
}

/** How far back a history is read. */
export interface HistoryBounds {
  /** Bytes of JSON, about, of all messages; the newest one is always there. */
  readonly maxBytes: number
  /** True: not past the newest summary and the messages that it keeps. */
  readonly fromSummary: boolean
}

/** Keeps the messages of conversations. */
export interface SessionStore extends OwnedSessions {
  /**
   * The last `maxMessages` messages of a branch, oldest first.
   * @param bounds leave out older messages; a store that ignores them is only slower
   * @param from where the branch ends; default: at the newest turn
   * @param turnId a turn that begins again: if it was saved before, the branch ends with the turn that it follows
   * @throws RUN_ERR_NO_TURN
   */
  load(
    key: SessionKey,
    maxMessages: number,
    from?: Continuation,
    turnId?: string,
    bounds?: HistoryBounds
  ): Awaitable<SessionMessage[]>
  /**
   * Adds the messages of one turn atomically. A turn with a `turnId` that was saved before is ignored.
   * @param from which turn it follows; default: the newest one
   * @throws RUN_ERR_FENCED as `RunFence` says, RUN_ERR_NO_TURN
   */
  append(
    key: SessionKey,
    turnId: string,
    messages: readonly SessionMessage[],
    fence?: RunFence,
    from?: Continuation
  ): Awaitable<void>
  /** True if a run has a turn in the session. Absent: a start cannot name the turn that it continues. */
  hasTurn?(key: SessionKey, runId: string): Awaitable<boolean>
  /**
   * Removes a conversation. Messages that a fork still reaches stay for it, and go with the last one; returns the number of those that this
   * session had saved itself.
   */
  remove(key: SessionKey): Awaitable<number>
  /**
   * Removes the turns that members and steps of these runs saved: those whose `turnId` is the id of the run, a slash and a path. A session
   * without messages of its own goes with them unless it is in the list of its owner. What a fork still reaches stays for it.
   */
  removeTurns(key: SessionKey, runIds: readonly string[]): Awaitable<void>
  /** Removes the sessions that exceed the store's retention; returns their number. */
  sweep(now: number): Awaitable<number>
  /**
   * Waits, in call order, until no other turn of this session is in progress, and returns the function that ends this one. A turn
   * that its suspended run keeps ends with the run.
   * @param holder who takes the turn: the id of a run, which a path may follow after a slash. A store of several processes keeps the
   * place of a holder whose run another process takes over. Without it, the turn ends with its process
   * @param onPlace called while it waits, with its place: soon, and whenever it changes
   * @throws the signal's reason if it aborts first. A holder whose run is suspended keeps its place where other processes continue it
   */
  lock(
    key: SessionKey,
    signal: AbortSignal,
    holder?: string,
    onPlace?: (place: TurnPlace) => void
  ): Awaitable<EndTurn>
  /**
   * Gives an accepted run its place in the order of turns, which `lock` with its id as the holder then has. A run that has one gets the
   * same again. It lasts until the run ends: in a store of several processes nothing but the write of that end gives it to the next run.
   * @param ifFree true to give it none unless the turn is free; `position` is then over 0, and `leave` does nothing
   * Absent: turns are in the order of `lock`, and a message cannot be refused because the session is busy.
   */
  place?(key: SessionKey, runId: string, ifFree?: boolean): Awaitable<PlacedTurn>
  /**
   * True if what a run writes takes effect in the order of the calls, and nothing of it after a write that failed: a run then ends without
   * waiting until its turn, which follows the newest one, is saved.
   */
  readonly ordersWrites?: true
  /**
   * True if a place that is asked for together with the creation of its run, before either is awaited, is given in the transaction of the
   * creation, or not at all. A run that has to wait is then stored as `submitted`. Stores of one process need no such transaction.
   */
  readonly placesNewRuns?: true
  /** The places of those of these runs that wait for their turn, by their ids. Optional for stores of one process. */
  places?(runIds: readonly string[]): Awaitable<ReadonlyMap<string, TurnPlace>>
}

/** Cookies and local storage of a browser, as Playwright's `storageState` has them; plain JSON. */
export interface BrowserState {
  readonly cookies: readonly Readonly<Record<string, unknown>>[]
  readonly origins: readonly Readonly<Record<string, unknown>>[]
}

/** Keeps what a browser knows in a session. It has credentials: a store on disk must encrypt it. */
export interface BrowserStateStore extends OwnedSessions {
  /** The state of a session; undefined if there is none. */
  load(key: SessionKey): Awaitable<BrowserState | undefined>
  /** Replaces the state of a session. @throws RUN_ERR_FENCED as `RunFence` says */
  save(key: SessionKey, state: BrowserState, fence?: RunFence): Awaitable<void>
  remove(key: SessionKey): Awaitable<void>
}

/** The conversation of another service that belongs to a session. */
export interface RemoteSession {
  /** The id by which the service continues the conversation. */
  readonly contextId: string
  /** Its task that waits for the next message. */
  readonly taskId?: string
}

/** Keeps which conversations of other services belong to sessions. */
export interface RemoteSessionStore extends OwnedSessions {
  /** @param remote identifies the service, and who calls it within the session; at most 64 characters */
  load(key: SessionKey, remote: string): Awaitable<RemoteSession | undefined>
  /** Replaces what is kept. @throws RUN_ERR_FENCED as `RunFence` says */
  save(key: SessionKey, remote: string, session: RemoteSession, fence?: RunFence): Awaitable<void>
  /** Removes one conversation of a session, or all. */
  remove(key: SessionKey, remote?: string): Awaitable<void>
}

/** True for the session of a query, and for those of its steps. */
export function isOfSession(sessionId: string, wanted: string): boolean {
  return sessionId === wanted || sessionId.startsWith(`${wanted}/`)
}

/** A session in a list. Times are milliseconds since the epoch. */
export interface StoredSession extends SessionKey {
  /** Given by `update`, else the beginning of the first message; null while there is none. */
  readonly title: string | null
  /** Null if none was given. */
  readonly metadata: RunMetadata | null
  readonly createdAt: number
  /** When a run last entered it, a turn was saved, or `update` changed it. */
  readonly updatedAt: number
  /** The number of saved turns. */
  readonly turns: number
  /** The ordinal of the last run that entered; 0 if none has. */
  readonly lastOrdinal: number
  /** The last run that entered, while it is unfinished. */
  readonly activeRun: string | null
}

/**
 * Selects sessions of one owner. A page looks at a bounded number of sessions: it may be short, even empty, before the last one.
 */
export interface SessionQuery {
  owner: string
  scope: RunScope
  kind?: RunnableKind
  name?: string
  sessionId?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** `desc`: the last changed first; `asc`: last, so that a session that changes between two pages comes again. Default `desc`. */
  order?: 'asc' | 'desc'
  /** The `nextCursor` of the previous page, in the same order. */
  cursor?: string
}

/** One page of sessions; `nextCursor` is null on the last page. */
export interface SessionPage {
  sessions: StoredSession[]
  nextCursor: string | null
}

/** A message as a session keeps it. */
export interface StoredMessage {
  /** Its place in the session, from 1; on a branch, messages have ascending places, with gaps. */
  readonly seq: number
  /** The turn that it was saved with. It begins with the id of the run, which a path may follow after a slash. */
  readonly turnId: string
  /** Null if its stored form is damaged, or contents are not read. */
  readonly message: SessionMessage | null
}

/** Selects messages; the newest come first. */
export interface MessageQuery {
  /** At most this many; 1–1,000. */
  limit: number
  /** Characters of JSON of all of them; a larger message is alone on its page. Default: no limit. */
  bytes?: number
  /** Called by stores that copy a message of over 65,536 bytes, before they read it; they wait for a promise. */
  admit?: (bytes: number) => Awaitable<void> | undefined
  /** False: only the places of messages are read, and each `message` is null. Default: true. */
  contents?: boolean
  /** The `nextCursor` of the previous page, which is on the same branch. */
  before?: string
  /** A run with a turn on the branch: the newest such branch. Default: the branch of the newest turn. */
  branch?: string
}

/** Turns that follow the same turn, each on a branch of its own. */
export interface TurnBranches {
  /** The run of the turn that they follow; null at the beginning. */
  readonly after: string | null
  /** Their runs, oldest first; at least two. */
  readonly turns: readonly string[]
}

/** One page of messages, oldest first; `nextCursor` is that of the page of older messages, null if there are none. */
export interface MessagePage {
  messages: StoredMessage[]
  /** Where turns of the page have siblings on other branches. */
  branches: TurnBranches[]
  nextCursor: string | null
}

/** A run in the order in which the runs of a session had their turns. */
export interface SessionRun {
  /** From 1, without gaps. */
  readonly ordinal: number
  readonly runId: string
}

/** What a wire keeps for later turns of a session, as JSON by the name of the wire. Clients never see it. */
export type SessionSettings = Readonly<Record<string, unknown>>

/** What `update` changes; null removes, undefined keeps. */
export interface SessionUpdate {
  title?: string | null | undefined
  metadata?: RunMetadata | null | undefined
  settings?: SessionSettings | null | undefined
}

/**
 * Sessions as a list, for their owners. It has the sessions that were created, that a run entered, or that have a turn of a run of their own:
 * not those of the members of a team or the steps of a workflow. Belongs to the `SessionStore` beside it, whose `append` changes the list.
 */
export interface SessionIndex {
  /** Begins a session before its first run. @throws RUN_ERR_SESSION_EXISTS */
  create(key: SessionKey, fields?: SessionUpdate): Awaitable<StoredSession>
  /**
   * A run has its turn: gives it the next ordinal of the session, which begins if it is new. A second call for a run does nothing.
   * @throws RUN_ERR_FENCED if the run was removed
   */
  enter(key: SessionKey, runId: string): Awaitable<void>
  find(key: SessionKey): Awaitable<StoredSession | undefined>
  /** Reads no session outside of the page. @throws REG_ERR_BAD_CURSOR */
  list(query: SessionQuery): Awaitable<SessionPage>
  /** The cursor of the page that begins after a session, as the list is now; undefined if there is no such session. */
  cursorAfter(key: SessionKey): Awaitable<string | undefined>
  /** Changes a session; undefined if there is none. */
  update(key: SessionKey, change: SessionUpdate): Awaitable<StoredSession | undefined>
  /** What was last given as its settings; undefined if there is no session, or none were given. */
  settings(key: SessionKey): Awaitable<SessionSettings | undefined>
  /**
   * A page of the messages of a branch; empty if there is no session. Reads none outside of the page.
   * @throws REG_ERR_BAD_CURSOR, RUN_ERR_NO_TURN if no turn of the session is of `branch`
   */
  messages(key: SessionKey, query: MessageQuery): Awaitable<MessagePage>
  /**
   * Begins a session whose history is that of another one up to a turn; so do the sessions of a team's members. The messages are shared, not
   * copied. It has the title, the metadata and the settings of the other one, and no runs.
   * @param sessionId of the new session
   * @param atTurn the run whose turn is the last one; default the newest turn
   * @returns undefined if there is no session to fork
   * @throws RUN_ERR_NO_TURN, RUN_ERR_SESSION_EXISTS
   */
  fork(key: SessionKey, sessionId: string, atTurn?: string): Awaitable<StoredSession | undefined>
  /** The forks of a session that exist, and theirs. */
  forks(key: SessionKey): Awaitable<SessionKey[]>
  /** The cursor of the page that ends with what a session has of the one it is a fork of; undefined if it is no fork. */
  sharedBefore(key: SessionKey): Awaitable<string | undefined>
  /** The runs that entered after this ordinal, at most `limit`, in order. They may have been removed. */
  runs(key: SessionKey, after: number, limit: number): Awaitable<SessionRun[]>
  /** The runs that entered before this ordinal, at most `limit`, the last one first. They may have been removed. */
  runsBefore(key: SessionKey, before: number, limit: number): Awaitable<SessionRun[]>
  /** The ordinal of a run that entered; undefined for any other. */
  ordinalOf(key: SessionKey, runId: string): Awaitable<number | undefined>
  /** Calls the listener after runs entered, or the session was removed, on any node, until the returned function is called. It may be called without need. */
  follow(key: SessionKey, listener: () => void): () => void
}
