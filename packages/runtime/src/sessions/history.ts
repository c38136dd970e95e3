import { Type, type TSchema } from '@sinclair/typebox'
import type { HistoryBounds, SessionMessage, SummaryMessage } from '@svc/contract'
import { cutResult } from '../context/cut-results.ts'
import { resolveModel, type Model, type ModelFunction, type ResolveModel } from '../models/model.ts'

/** How old messages make room. Tokens are estimated. */
export interface CompactOptions {
  /** The share of the window at which a prompt is compacted, 0.1–0.95; default 0.85. */
  at?: number
  /** The newest messages that stay, if they fit; default 20. */
  keep?: number
  /** Writes the summaries; default: the model of the run. */
  model?: Model | ModelFunction
  /** What summaries are to keep, besides what they keep anyway. */
  instructions?: string
  /** Tokens of a summary, 256–16,384; default 2,000. */
  maxSummary?: number
  /** Whether old results over 2,048 bytes keep their ends only; default `ends`. */
  toolResults?: 'ends' | 'keep'
}

/** How much of a conversation a prompt has. */
export interface HistoryOptions {
  /** Tokens that a prompt and its answer may take together, at least 1,024; default: what the model told when it refused a prompt, else 128,000. */
  window?: number
  /** False: the oldest messages are left out, without a summary; default: compaction at 85 % of the window. */
  compact?: false | CompactOptions
  /** More messages before the one to be answered are compacted; default 1,500, with `compact: false` 50. 0: no history. */
  maxMessages?: number
  /** More tokens before the message to be answered are compacted; default: no bound. 0: no history. */
  maxTokens?: number
  /** Counts the tokens of a text; default: UTF-8 bytes / 3, rounded up. */
  countTokens?: (text: string) => number
}

const optional = <S extends TSchema>(schema: S) => Type.Optional(schema)
const strict = { additionalProperties: false }

const CompactOptionsSchema = Type.Object(
  {
    at: optional(Type.Number({ minimum: 0.1, maximum: 0.95, description: 'Of the window; default 0.85' })),
    keep: optional(Type.Integer({ minimum: 2, description: 'Messages; default 20' })),
    // Models have an error of their own.
    model: optional(Type.Any()),
    instructions: optional(Type.String()),
    maxSummary: optional(
      Type.Integer({ minimum: 256, maximum: 16_384, description: 'Tokens; default 2,000' })
    ),
    toolResults: optional(Type.Union([Type.Literal('ends'), Type.Literal('keep')]))
  } satisfies Record<keyof CompactOptions, TSchema>,
  strict
)

export const HistoryOptionsSchema = Type.Object(
  {
    window: optional(Type.Integer({ minimum: 1_024, description: 'Tokens; default 128,000' })),
    compact: optional(Type.Union([Type.Literal(false), CompactOptionsSchema])),
    maxMessages: optional(Type.Integer({ minimum: 0 })),
    maxTokens: optional(Type.Integer({ minimum: 0 })),
    countTokens: optional(Type.Function([], Type.Unknown()))
  } satisfies Record<keyof HistoryOptions, TSchema>,
  strict
)

/** How prompts are compacted. */
export interface CompactPlan {
  readonly at: number
  readonly keep: number
  /** Default: the model of the run. */
  readonly resolveModel: ResolveModel | undefined
  readonly instructions: string | undefined
  readonly maxSummary: number
  readonly cutsResults: boolean
}

/** How much of a conversation prompts have, and what happens to the rest. */
export interface HistoryPlan extends HistoryLimits {
  readonly window: number | undefined
  readonly compact: CompactPlan | undefined
}

const MAX_MESSAGES = 50
/** Messages of a session that are read at most. */
export const MAX_LOADED = 2_000
/** Before a session has more messages than are read. */
const MAX_UNCOMPACTED = 1_500

/** How far back sessions are read that are compacted. */
export const LOAD_BOUNDS: HistoryBounds = { maxBytes: 8_388_608, fromSummary: true }

/** Plans the history of prompts from checked options. @throws RUN_ERR_BAD_MODEL */
export function planHistory({ compact = {}, ...options }: HistoryOptions = {}): HistoryPlan {
  const { window, countTokens, maxTokens = Infinity } = options
  if (compact === false) {
    const { maxMessages = MAX_MESSAGES } = options
    return { window, maxMessages, maxTokens, countTokens, compact: undefined }
  }
  const { at = 0.85, keep = 20, model, instructions, maxSummary = 2_000, toolResults = 'ends' } = compact
  const { maxMessages = MAX_UNCOMPACTED } = options
  const plan = {
    at,
    keep,
    resolveModel: model === undefined ? undefined : resolveModel(model),
    instructions,
    maxSummary,
    cutsResults: toolResults === 'ends'
  }
  return { window, maxMessages, maxTokens, countTokens, compact: plan }
}

/** How much of a conversation a prompt includes. */
export interface HistoryLimits {
  readonly maxMessages: number
  /** Total tokens of the messages, according to `countTokens`. */
  readonly maxTokens: number
  /** Counts the tokens of a text; default: UTF-8 bytes / 3, rounded up. */
  readonly countTokens?: ((text: string) => number) | undefined
}

type ToolMessage = Extract<SessionMessage, { role: 'tool' }>
type AssistantMessage = Extract<SessionMessage, { role: 'assistant' }>

/** A message of a session that is no summary. */
export type SaidMessage = Exclude<SessionMessage, SummaryMessage>

const BYTES_PER_TOKEN = 3

/**
 * Returns the newest messages within the limits, starting with a user message. Drops tool calls without a result, and
 * results without a call.
 */
export function cutHistory(
  messages: readonly SaidMessage[],
  { maxTokens, maxMessages, countTokens = estimateTokens }: HistoryLimits
): SaidMessage[] {
  let from = Math.max(0, messages.length - maxMessages)
  if (maxTokens !== Infinity) from = Math.max(from, firstWithin(messages, maxTokens, countTokens))
  while (from < messages.length && messages[from]!.role !== 'user') from++
  return pairUp(messages, from)
}

function firstWithin(
  messages: readonly SaidMessage[],
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

function textOf(message: SaidMessage): string {
  if (message.role === 'user' && typeof message.content === 'string') return message.content
  if (message.role === 'assistant' && message.toolCalls === undefined && message.files === undefined)
    return message.text
  return JSON.stringify(message)
}

function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** The messages from `from` on without tool calls that have no result, and results that have no call. */
function pairUp(messages: readonly SaidMessage[], from = 0): SaidMessage[] {
  const kept: SaidMessage[] = []
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

function pairCalls(message: AssistantMessage, results: ToolMessage[]): SaidMessage[] {
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

/** What a prompt has of a session. */
export interface History {
  /** What replaces earlier messages. */
  readonly summary: string | undefined
  readonly messages: readonly SaidMessage[]
  /** Messages of the session among these that no prompt shows: summaries, and calls that have no result. */
  readonly hidden: number
}

/** Reads the messages of a session as prompts show them: those that the newest summary keeps, and those after it. */
export function readHistory(stored: readonly SessionMessage[]): History {
  const at = stored.findLastIndex(({ role }) => role === 'summary')
  if (at < 0) {
    const messages = pairUp(stored as readonly SaidMessage[])
    return { summary: undefined, messages, hidden: stored.length - messages.length }
  }
  const { text, keeps, cut = Infinity } = stored[at] as SummaryMessage
  const from = Math.max(0, at - keeps)
  const shown: SaidMessage[] = []
  for (let index = from; index < stored.length; index++) {
    const message = stored[index]!
    if (message.role !== 'summary') shown.push(index < at - cut ? withEnds(message) : message)
  }
  const messages = pairUp(shown)
  return { summary: text, messages, hidden: stored.length - from - messages.length }
}

function withEnds(message: SaidMessage): SaidMessage {
  if (message.role !== 'tool' || message.error !== undefined) return message
  const result = cutResult(message.result)
  return result === message.result ? message : { ...message, result }
}
