import type { RunMetadata } from '../run-metadata.ts'
import type { RunnableKind } from '../names.ts'
import type { Awaitable } from './awaitable.ts'
import type { RunScope } from './run-scope.ts'
import type { SessionKey, SessionMessage } from './session-store.ts'

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

/** Selects sessions of one owner; the last changed come first. */
export interface SessionQuery {
  owner: string
  scope: RunScope
  kind?: RunnableKind
  name?: string
  sessionId?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page. */
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

/** What `update` changes; null removes, undefined keeps. */
export interface SessionUpdate {
  title?: string | null | undefined
  metadata?: RunMetadata | null | undefined
}

/**
 * Sessions as a list, for their owners. It has the sessions that a run entered, or that have a turn of a run of their own: not those of
 * the members of a team or the steps of a workflow. Belongs to the `SessionStore` beside it, whose `append` changes the list.
 */
export interface SessionIndex {
  /**
   * A run has its turn: gives it the next ordinal of the session, which begins if it is new. A second call for a run does nothing.
   * @throws RUN_ERR_FENCED if the run was removed
   */
  enter(key: SessionKey, runId: string): Awaitable<void>
  find(key: SessionKey): Awaitable<StoredSession | undefined>
  /** Last changed first. Reads no session outside of the page. @throws REG_ERR_BAD_CURSOR */
  list(query: SessionQuery): Awaitable<SessionPage>
  /** Changes a session; undefined if there is none. */
  update(key: SessionKey, change: SessionUpdate): Awaitable<StoredSession | undefined>
  /**
   * A page of the messages of a branch; empty if there is no session. Reads none outside of the page.
   * @throws REG_ERR_BAD_CURSOR, RUN_ERR_NO_TURN if no turn of the session is of `branch`
   */
  messages(key: SessionKey, query: MessageQuery): Awaitable<MessagePage>
  /**
   * Begins a session whose history is that of another one up to a turn; so do the sessions of a team's members. The messages are shared, not
   * copied. It has the title and the metadata of the other one, and no runs.
   * @param sessionId of the new session
   * @param atTurn the run whose turn is the last one; default the newest turn
   * @returns undefined if there is no session to fork
   * @throws RUN_ERR_NO_TURN, RUN_ERR_SESSION_EXISTS
   */
  fork(key: SessionKey, sessionId: string, atTurn?: string): Awaitable<StoredSession | undefined>
  /** The forks of a session that exist, and theirs. */
  forks(key: SessionKey): Awaitable<SessionKey[]>
  /** The runs that entered after this ordinal, at most `limit`, in order. They may have been removed. */
  runs(key: SessionKey, after: number, limit: number): Awaitable<SessionRun[]>
  /** Calls the listener after runs entered, or the session was removed, on any node, until the returned function is called. It may be called without need. */
  follow(key: SessionKey, listener: () => void): () => void
}
