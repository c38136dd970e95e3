import type { MessageQuery, StoredMessage } from '../contract/ports/session-index.ts'
import type { SessionKey, SessionMessage } from '../contract/ports/session-store.ts'
import { formatMessageCursor } from '../stores/session-cursor.ts'
import { runIdOfTurn } from '../stores/session-title.ts'
import type { Sessions } from './sessions.ts'

/** One turn of a conversation: a run, and the messages that it saved, oldest first. */
export interface Turn {
  readonly runId: string
  readonly messages: readonly SessionMessage[]
}

/** Whole turns of a branch, oldest first; `nextCursor` is that of the turns before, null if there are none. */
export interface TurnPage {
  readonly turns: readonly Turn[]
  readonly nextCursor: string | null
}

/**
 * Reads the newest turns of a conversation, or those before a cursor: about `limit` messages, and at least one turn. Damaged messages are
 * left out.
 * @throws as `Sessions.messages`
 */
export async function readTurns(
  sessions: Pick<Sessions, 'messages'>,
  key: SessionKey,
  { limit, ...query }: MessageQuery
): Promise<TurnPage> {
  let messages: StoredMessage[] = []
  let before = query.before
  for (;;) {
    const page = await sessions.messages(key, { ...query, limit, ...(before !== undefined && { before }) })
    messages = [...page.messages, ...messages]
    if (page.nextCursor === null) return { turns: groupTurns(messages), nextCursor: null }
    // The oldest turn may have more messages on the next page.
    const first = messages.findIndex(({ turnId }) => runIdOfTurn(turnId) !== runIdOfTurn(messages[0]!.turnId))
    if (first > 0)
      return {
        turns: groupTurns(messages.slice(first)),
        nextCursor: formatMessageCursor(messages[first]!.seq)
      }
    before = page.nextCursor
  }
}

function groupTurns(messages: readonly StoredMessage[]): Turn[] {
  const turns: { runId: string; messages: SessionMessage[] }[] = []
  for (const { turnId, message } of messages) {
    if (message === null) continue
    const runId = runIdOfTurn(turnId)
    const last = turns.at(-1)
    if (last?.runId === runId) last.messages.push(message)
    else turns.push({ runId, messages: [message] })
  }
  return turns
}
