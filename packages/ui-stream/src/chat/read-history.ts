import { codeOf, defined, estimateLength, type Principal, type StoredSession } from '@svc/contract'
import { RUN_ERR_SESSION_NOT_FOUND } from '@svc/contract/errors'
import {
  findActiveRun,
  readTurn,
  readTurns,
  requireSession,
  runsOfConversation,
  type Turn
} from '@svc/surface'
import type { ChatView } from '../projection/message-chunks.ts'
import { messagesOfRun, messagesOfTurn } from '../messages/messages-of-run.ts'
import type { Surface } from '../surface.ts'
import type { UiMessage } from '../wire/messages.ts'
import type { Chat } from './continue-run.ts'
import type { HistoryQuery } from './chat-schemas.ts'

/** A page of the messages of a chat, oldest first; `nextCursor` is that of the page before, null if there is none. */
export interface History {
  readonly messages: UiMessage[]
  readonly nextCursor: string | null
}

/** What a page of a chat has, before it is read. */
export interface HistoryPlan {
  /** Of the turns; undefined if their runnable keeps none. */
  readonly session: StoredSession | undefined
  readonly turns: readonly Turn[]
  readonly nextCursor: string | null
  /** Of the logs from which the messages are made. */
  readonly bytes: number
}

/** Messages of a session on a page, unless the request says. */
const PAGE = 100
/** Bytes of the logs of a page; a longer log has a page to itself. */
const MAX_BYTES = 1_048_576
/** Bytes of the logs of runs that no cursor leads to; older ones are left out. */
const MAX_UNPAGED = 16_777_216

/**
 * Finds the turns of a page, and the run under way: as many of the newest ones as fit.
 * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_NO_TURN, REG_ERR_BAD_CURSOR, UI_ERR_FOREIGN_USER, RUN_ERR_STORE
 */
export async function planHistory(
  surface: Surface,
  chat: Chat,
  { limit = PAGE, before, branch }: HistoryQuery,
  principal: Principal
): Promise<HistoryPlan> {
  const { runs } = surface
  const active = await findActiveRun(surface, chat, principal)
  const session = await requireSession(surface, chat, principal).catch((err: unknown) => {
    if (codeOf(err) === 'RUN_ERR_SESSION_NOT_FOUND') return undefined
    throw err
  })
  let turns: readonly Turn[]
  let nextCursor: string | null = null
  const saved = session !== undefined && session.turns > 0 ? session : undefined
  if (saved !== undefined) {
    const pages = { limit, contents: false, ...defined({ before, branch }) }
    ;({ turns, nextCursor } = await readTurns(runs.sessions, saved, pages))
  } else {
    // Runnables that keep no turns, such as workflows, have their last runs only.
    const last = await runsOfConversation(surface, chat, principal, limit)
    if (last.length === 0 && session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(chat.sessionId)
    turns = last.map(({ runId }) => ({ runId, messages: [] }))
  }
  if (active !== undefined && before === undefined && !turns.some(({ runId }) => runId === active.runId))
    turns = [...turns, { runId: active.runId, messages: [] }]
  return fit(surface, saved, turns, nextCursor)
}

/**
 * Reads the messages of a page as they were streamed, and those of the run under way. A turn whose log is no longer kept is as its session
 * has it.
 * @throws RUN_ERR_STORE
 */
export async function readHistory(
  { runs }: Surface,
  { session, turns, nextCursor }: HistoryPlan,
  view: ChatView
): Promise<History> {
  const messages: UiMessage[] = []
  for (const turn of turns) {
    const logged = await messagesOfRun(runs, turn.runId, view)
    const isSaved = logged === undefined && turn.messages.length === 0 && session !== undefined
    const kept = isSaved ? { ...turn, messages: await readTurn(runs.sessions, session, turn) } : turn
    messages.push(...(logged ?? messagesOfTurn(kept, view)))
  }
  return { messages, nextCursor }
}

// The newest turns that fit. Only those whose log is no longer kept have their messages here.
async function fit(
  { runs }: Surface,
  session: StoredSession | undefined,
  turns: readonly Turn[],
  nextCursor: string | null
): Promise<HistoryPlan> {
  const fitting: Turn[] = []
  let bytes = 0
  for (const turn of turns.toReversed()) {
    const { runId, end } = turn
    const run = await runs.find(runId)
    const isKept = run !== undefined || session === undefined
    const messages = isKept ? [] : await readTurn(runs.sessions, session, turn)
    const more = run?.bytes ?? estimateLength(messages, MAX_BYTES)
    // No cursor leads to the newest turn, which a run under way may follow.
    const limit = end !== undefined ? MAX_BYTES : session !== undefined ? Infinity : MAX_UNPAGED
    if (bytes > 0 && bytes + more > limit) return { session, turns: fitting, nextCursor: end ?? null, bytes }
    fitting.unshift({ ...turn, messages })
    bytes += more
  }
  return { session, turns: fitting, nextCursor, bytes }
}
