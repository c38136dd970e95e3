import type { RunInput, SessionMessage } from '@svc/contract'
import { badInput } from './require-input.ts'

/** An input, and the conversation before it. */
export interface TakenInput {
  readonly input: RunInput
  readonly messages: readonly SessionMessage[]
}

/**
 * Makes sure that each tool call of a conversation is followed by its result, as model providers require. Without an input takes
 * that of the last message; undefined if the conversation ends with results, or with the beginning of an answer to a user.
 * @throws RUN_ERR_BAD_INPUT
 */
export function takeInput(messages: readonly SessionMessage[], input: RunInput): TakenInput {
  requireComplete(messages)
  const last = messages.at(-1)
  const isContinued = last?.role === 'tool' || (isSaid(last) && messages.some(({ role }) => role === 'user'))
  if (input !== undefined || isContinued) return { input, messages }
  if (last?.role === 'user') return { input: last.content, messages: messages.slice(0, -1) }
  const message =
    'is required, unless messages end with a user message, with the results of tool calls or with the beginning of an answer'
  throw badInput([{ path: 'input', message }])
}

function isSaid(message: SessionMessage | undefined): boolean {
  return message?.role === 'assistant' && message.text.trim() !== ''
}

function requireComplete(messages: readonly SessionMessage[]): void {
  let open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      requireResult(message, open.get(message.toolCallId), index)
      open.delete(message.toolCallId)
      continue
    }
    requireNone(open.size, index - 1)
    if (message.role === 'user') continue
    const { toolCalls = [] } = message
    open = new Map(toolCalls.map(({ toolCallId, toolName }) => [toolCallId, toolName]))
    if (open.size !== toolCalls.length)
      throw badInput([{ path: `messages/${index}/toolCalls`, message: 'must have different ids' }])
  }
  requireNone(open.size, messages.length - 1)
}

function requireResult(
  { toolName, result, error }: Extract<SessionMessage, { role: 'tool' }>,
  called: string | undefined,
  index: number
): void {
  const path = `messages/${index}`
  if (called === undefined) throw badInput([{ path, message: 'is the result of no tool call before it' }])
  if (called !== toolName)
    throw badInput([{ path: `${path}/toolName`, message: `must be "${called}", as in its call` }])
  if (result !== undefined && error !== undefined)
    throw badInput([{ path, message: 'must have a result or an error, not both' }])
}

function requireNone(open: number, index: number): void {
  if (open === 0) return
  const message = `must be followed by the results of all tool calls before it, ${open} more`
  throw badInput([{ path: `messages/${index}`, message }])
}
