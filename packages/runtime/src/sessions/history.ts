import { Type, type TSchema } from '@sinclair/typebox'
import type { SessionMessage } from '@svc/contract'

/** How much of a conversation the prompt includes. */
export interface HistoryLimits {
  readonly maxMessages: number
  /** Total tokens of the messages, according to `countTokens`. */
  readonly maxTokens: number
  /** Counts the tokens of a text; default: one token per 4 characters. */
  readonly countTokens?: (text: string) => number
}

export const HistoryLimitsSchema = Type.Object(
  {
    maxMessages: Type.Optional(Type.Integer({ minimum: 0, description: 'Default 50' })),
    maxTokens: Type.Optional(
      Type.Integer({ minimum: 0, description: 'About 4 characters each; default: no bound' })
    ),
    countTokens: Type.Optional(Type.Function([], Type.Unknown()))
  } satisfies Record<keyof HistoryLimits, TSchema>,
  { additionalProperties: false }
)

export const HISTORY_DEFAULTS: HistoryLimits = { maxMessages: 50, maxTokens: Infinity }

type ToolMessage = Extract<SessionMessage, { role: 'tool' }>
type AssistantMessage = Extract<SessionMessage, { role: 'assistant' }>

const CHARACTERS_PER_TOKEN = 4

/**
 * Returns the newest messages within the limits, starting with a user message. Drops tool calls without a result, and
 * results without a call.
 */
export function cutHistory(
  messages: readonly SessionMessage[],
  { maxTokens, maxMessages, countTokens = estimateTokens }: HistoryLimits
): SessionMessage[] {
  let from = Math.max(0, messages.length - maxMessages)
  if (maxTokens !== Infinity) from = Math.max(from, firstWithin(messages, maxTokens, countTokens))
  while (from < messages.length && messages[from]!.role !== 'user') from++
  return pairUp(messages, from)
}

function firstWithin(
  messages: readonly SessionMessage[],
  maxTokens: number,
  countTokens: (text: string) => number
): number {
  let left = maxTokens
  let from = messages.length
  while (from > 0) {
    left -= countTokens(textOf(messages[from - 1]!))
    if (!(left >= 0)) break
    from--
  }
  return from
}

function textOf(message: SessionMessage): string {
  if (message.role === 'user' && typeof message.content === 'string') return message.content
  if (message.role === 'assistant' && message.toolCalls === undefined && message.files === undefined)
    return message.text
  return JSON.stringify(message)
}

function estimateTokens({ length }: string): number {
  return length / CHARACTERS_PER_TOKEN
}

/** The messages from `from` on without tool calls that have no result, and results that have no call. */
export function pairUp(messages: readonly SessionMessage[], from = 0): SessionMessage[] {
  const kept: SessionMessage[] = []
  for (let at = from; at < messages.length;) {
    const message = messages[at++]!
    if (message.role === 'tool') continue
    if (message.role === 'user' || !message.toolCalls?.length) {
      kept.push(message)
      continue
    }
    const results: ToolMessage[] = []
    for (; messages[at]?.role === 'tool'; at++) results.push(messages[at] as ToolMessage)
    kept.push(...pairCalls(message, results))
  }
  return kept
}

function pairCalls(message: AssistantMessage, results: ToolMessage[]): SessionMessage[] {
  const calls = message.toolCalls ?? []
  const called = new Map(calls.map((call) => [call.toolCallId, call]))
  const answered = new Map<string, ToolMessage>()
  for (const result of results) if (called.has(result.toolCallId)) answered.set(result.toolCallId, result)
  if (answered.size === calls.length && results.length === calls.length) return [message, ...results]
  const { toolCalls: _, ...rest } = message
  const paired = [...called.values()].filter((call) => answered.has(call.toolCallId))
  if (paired.length > 0) return [{ ...rest, toolCalls: paired }, ...answered.values()]
  return message.text === '' && !message.files?.length ? [] : [rest]
}
