import type { RunInput } from '../contract/content-part.ts'
import type { SessionMessage } from '../contract/ports/session-store.ts'
import { badInput } from './require-input.ts'

/** An input, and the conversation before it. */
export interface TakenInput {
  readonly input: RunInput
  readonly messages: readonly SessionMessage[]
}

/**
 * Makes sure that each tool call of a conversation is followed by its result, as model providers require. Without an input takes
 * that of the last message; undefined if the conversation ends with results.
 * @throws RUN_ERR_BAD_INPUT
 */
export function takeInput(messages: readonly SessionMessage[], input: RunInput): TakenInput {
  requireComplete(messages)
  const last = messages.at(-1)
  if (input !== undefined || last?.role === 'tool') return { input, messages }
  if (last?.role === 'user') return { input: last.content, messages: messages.slice(0, -1) }
  const message = 'is required, unless messages end with a user message or with the results of tool calls'
  throw badInput([{ path: 'input', message }])
}

function requireComplete(messages: readonly SessionMessage[]): void {
  let open = new Set<string>()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId))
        throw badInput([{ path: `messages/${index}`, message: 'is the result of no tool call before it' }])
      continue
    }
    requireNone(open, index - 1)
    if (message.role === 'user') continue
    const ids = message.toolCalls?.map(({ toolCallId }) => toolCallId)
    open = new Set(ids)
    if (open.size !== (ids?.length ?? 0))
      throw badInput([{ path: `messages/${index}/toolCalls`, message: 'must have different ids' }])
  }
  requireNone(open, messages.length - 1)
}

function requireNone(open: ReadonlySet<string>, index: number): void {
  if (open.size === 0) return
  const message = `must be followed by the results of all tool calls before it, ${open.size} more`
  throw badInput([{ path: `messages/${index}`, message }])
}
