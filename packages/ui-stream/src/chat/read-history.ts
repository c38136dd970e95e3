import { RUN_ERR_SESSION_NOT_FOUND, type Principal } from '@svc/registry'
import { codeOf, requireSession } from '@svc/registry/kit'
import { findActiveRun, readTurns, runsOfConversation, type FileUrl } from '@svc/registry/wire-kit'
import { messagesOfRun, messagesOfTurn } from '../messages/messages-of-run.ts'
import type { Surface } from '../surface.ts'
import type { UiMessage } from '../wire/messages.ts'
import type { Chat } from './chat.ts'
import type { HistoryQuery } from './chat-schemas.ts'

/** A page of the messages of a chat, oldest first; `nextCursor` is that of the page before, null if there is none. */
export interface History {
  readonly messages: UiMessage[]
  readonly nextCursor: string | null
}

/** Messages of a session on a page, unless the request says. */
const PAGE = 100

/**
 * Reads the messages of a chat as they were streamed, and those of the run under way. A turn whose log is no longer kept is as its session
 * has it.
 * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_NO_TURN, REG_ERR_BAD_CURSOR, UI_ERR_FOREIGN_USER, RUN_ERR_STORE
 */
export async function readHistory(
  surface: Surface,
  chat: Chat,
  query: HistoryQuery,
  principal: Principal,
  fileUrl: FileUrl
): Promise<History> {
  const { runs } = surface
  const { limit = PAGE, before, branch } = query
  const active = await findActiveRun(surface, chat, principal)
  const session = await requireSession(surface, chat, principal).catch((err: unknown) => {
    if (codeOf(err) === 'RUN_ERR_SESSION_NOT_FOUND') return undefined
    throw err
  })
  const messages: UiMessage[] = []
  let nextCursor: string | null = null
  const shown = new Set<string>()
  if (session !== undefined && session.turns > 0) {
    const pages = { limit, ...(before !== undefined && { before }), ...(branch !== undefined && { branch }) }
    const page = await readTurns(runs.sessions, session, pages)
    nextCursor = page.nextCursor
    for (const turn of page.turns) {
      shown.add(turn.runId)
      messages.push(...((await messagesOfRun(runs, turn.runId, fileUrl)) ?? messagesOfTurn(turn, fileUrl)))
    }
  } else {
    // Runnables that keep no turns, such as workflows, have their last runs only.
    const last = await runsOfConversation(surface, chat, principal, limit)
    if (last.length === 0 && session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(chat.sessionId)
    for (const { runId } of last) {
      shown.add(runId)
      messages.push(...((await messagesOfRun(runs, runId, fileUrl)) ?? []))
    }
  }
  if (active !== undefined && before === undefined && !shown.has(active.runId))
    messages.push(...((await messagesOfRun(runs, active.runId, fileUrl)) ?? []))
  return { messages, nextCursor }
}
