import type { MessageQuery, StoredMessage } from '../contract/ports/session-index.ts'
import type { SessionKey, SessionMessage } from '../contract/ports/session-store.ts'
import { formatMessageCursor } from '../stores/session-cursor.ts'
import { runIdOfTurn } from '../stores/session-title.ts'
import type { Sessions } from './sessions.ts'

/** One turn of a conversation: a run, and the messages that it saved, oldest first. */
export interface Turn {
  readonly runId: string
  readonly messages: readonly SessionMessage[]
  /** The cursor of the page on which this turn is the last one; undefined for the newest turn. */
  readonly end?: string | undefined
}

/** Whole turns of a branch, oldest first; `nextCursor` is that of the turns before, null if there are none. */
export interface TurnPage {
  readonly turns: readonly Turn[]
  readonly nextCursor: string | null
}

/** Messages that are read at once. */
const MAX_READ = 100
/** Characters of messages after which a page ends. */
const MAX_LENGTH = 1_048_576

/**
 * Reads the newest turns of a conversation, or those before a cursor: about `limit` messages, fewer if they are large, and at least one
 * turn. Damaged messages are left out.
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
    const page = await sessions.messages(key, {
      ...query,
      limit: Math.min(limit, MAX_READ),
      bytes: MAX_LENGTH,
      ...(before !== undefined && { before })
    })
    messages = [...page.messages, ...messages]
    if (page.nextCursor === null) return { turns: groupTurns(messages, query.before), nextCursor: null }
    // The oldest turn may have more messages on the next page.
    const first = messages.findIndex(({ turnId }) => runIdOfTurn(turnId) !== runIdOfTurn(messages[0]!.turnId))
    const isCut = page.messages.length < Math.min(limit, MAX_READ)
    if (first > 0 && (isCut || messages.length >= limit))
      return {
        turns: groupTurns(messages.slice(first), query.before),
        nextCursor: formatMessageCursor(messages[first]!.seq)
      }
    before = page.nextCursor
  }
}

function groupTurns(messages: readonly StoredMessage[], end: string | undefined): Turn[] {
  const turns: { runId: string; first: number; messages: SessionMessage[] }[] = []
  for (const { seq, turnId, message } of messages) {
    if (message === null) continue
    const runId = runIdOfTurn(turnId)
    const last = turns.at(-1)
    if (last?.runId === runId) last.messages.push(message)
    else turns.push({ runId, first: seq, messages: [message] })
  }
  return turns.map(({ runId, messages: of }, at) => {
    const next = turns[at + 1]
    return { runId, messages: of, end: next === undefined ? end : formatMessageCursor(next.first) }
  })
}
