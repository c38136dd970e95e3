import {
  ZERO_USAGE,
  type MessageQuery,
  type NumberedPart,
  type SessionKey,
  type SessionMessage,
  type StoredMessage
} from '@svc/contract'
import { formatMessageCursor, runIdOfTurn } from '@svc/contract/stores'
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
 * turn. Damaged messages are left out; without contents, turns have no messages.
 * @throws as `Sessions.messages`
 */
export async function readTurns(
  sessions: Pick<Sessions, 'messages'>,
  key: SessionKey,
  { limit, ...query }: MessageQuery
): Promise<TurnPage> {
  // Places cost little.
  const size = query.contents === false ? limit : Math.min(limit, MAX_READ)
  let messages: StoredMessage[] = []
  let before = query.before
  for (;;) {
    const page = await sessions.messages(key, {
      ...query,
      limit: size,
      bytes: MAX_LENGTH,
      ...(before !== undefined && { before })
    })
    messages = [...page.messages, ...messages]
    if (page.nextCursor === null) return { turns: groupTurns(messages, query), nextCursor: null }
    // The oldest turn may have more messages on the next page.
    const first = messages.findIndex(({ turnId }) => runIdOfTurn(turnId) !== runIdOfTurn(messages[0]!.turnId))
    const isCut = page.messages.length < size
    if (first > 0 && (isCut || messages.length >= limit))
      return {
        turns: groupTurns(messages.slice(first), query),
        nextCursor: formatMessageCursor(messages[first]!.seq)
      }
    before = page.nextCursor
  }
}

function groupTurns(
  messages: readonly StoredMessage[],
  { before: end, contents = true }: Omit<MessageQuery, 'limit'>
): Turn[] {
  const turns: { runId: string; first: number; messages: SessionMessage[] }[] = []
  for (const { seq, turnId, message } of messages) {
    if (message === null && contents) continue
    const runId = runIdOfTurn(turnId)
    const known = turns.at(-1)?.runId === runId ? turns.at(-1) : undefined
    const turn = known ?? { runId, first: seq, messages: [] }
    if (known === undefined) turns.push(turn)
    if (message !== null) turn.messages.push(message)
  }
  return turns.map(({ runId, messages: of }, at) => {
    const next = turns[at + 1]
    return { runId, messages: of, end: next === undefined ? end : formatMessageCursor(next.first) }
  })
}

/** The messages of a turn that was read without them; empty if the session was removed meanwhile. @throws as `Sessions.messages` */
export async function readTurn(
  sessions: Pick<Sessions, 'messages'>,
  key: SessionKey,
  { runId, end }: Pick<Turn, 'runId' | 'end'>
): Promise<readonly SessionMessage[]> {
  const { turns } = await readTurns(sessions, key, { limit: 1, ...(end !== undefined && { before: end }) })
  const turn = turns.at(-1)
  return turn?.runId === runId ? turn.messages : []
}

/**
 * The log that would have left the messages of a turn, for a wire whose run's own log is no longer kept: what a session does not keep, such
 * as reasoning, times and usage, is missing.
 */
export function* partsOfTurn({ runId, messages }: Turn, sessionId: string): Generator<NumberedPart> {
  let seq = 0
  const place = () => ({ seq: ++seq, at: 0 })
  const [first] = messages
  const input = first?.role === 'user' && { input: first.content }
  yield { type: 'start', runId, sessionId, kind: 'agent', name: '', ...input, ...place() }
  let index = 0
  for (const message of first?.role === 'user' ? messages.slice(1) : messages) {
    if (message.role === 'user') {
      const value = { steerId: `${runId}.${seq}`, message: message.content }
      yield { type: 'data', name: 'steer', value, ...place() }
    } else if (message.role === 'assistant') {
      yield { type: 'step.start', index: index++, attempt: 1, ...place() }
      if (message.text !== '') yield { type: 'text', text: message.text, ...place() }
      for (const file of message.files ?? []) {
        const { type: _, ...about } = file
        yield { type: 'file', ...about, ...place() }
      }
      for (const { toolCallId, toolName, args, providerExecuted } of message.toolCalls ?? [])
        yield {
          type: 'tool.call',
          toolCallId,
          toolName,
          args,
          ...(providerExecuted && { providerExecuted }),
          ...place()
        }
    } else if (message.role === 'tool') {
      const { toolCallId, toolName, result, error } = message
      if (error === undefined)
        yield { type: 'tool.result', toolCallId, toolName, result, durationMs: 0, ...place() }
      else yield { type: 'tool.error', toolCallId, toolName, error, ...place() }
    }
  }
  yield { type: 'step', index, usage: ZERO_USAGE, ...place() }
}
