import type { Usage } from '@svc/contract'
import type { AssistantMessage, Item } from '../events/items.ts'
import type { Response } from '../events/server-events.ts'
import { toWireFormat, type SessionState } from '../sessions/session-state.ts'

/** The answer of a response. */
export interface OpenAnswer {
  readonly responseId: string
  readonly itemId: string
  readonly previousItemId: string | null
  readonly outputIndex: number
  readonly modality: 'audio' | 'text'
  /** All that was generated. */
  text: string
  /** What was played of it, where it was stopped. */
  playedText: string | undefined
  isDone: boolean
}

/** How a response ended. */
export interface ResponseEnd {
  readonly status: 'completed' | 'interrupted' | 'canceled' | 'failed'
  readonly usage: Usage
  readonly error?: { readonly code: string; readonly message: string }
}

/** A response in progress. */
export class OpenResponse {
  readonly id: string
  readonly #conversationId: string
  readonly #session: SessionState
  readonly #metadata: Readonly<Record<string, string>> | null
  readonly #output: Item[] = []
  answer: OpenAnswer | undefined

  constructor(
    id: string,
    conversationId: string,
    session: SessionState,
    metadata: Readonly<Record<string, string>> | null
  ) {
    this.id = id
    this.#conversationId = conversationId
    this.#session = session
    this.#metadata = metadata
  }

  /** Adds an item of the output; returns its index. */
  add(item: Item): number {
    return this.#output.push(item) - 1
  }

  /** Replaces an item of the output. */
  replace(index: number, item: Item): void {
    this.#output[index] = item
  }

  /** The response as its events show it. @param end absent while it is in progress */
  toWire(end?: ResponseEnd): Response {
    const { outputFormat, voice, modality } = this.#session
    return {
      object: 'realtime.response',
      id: this.id,
      conversation_id: this.#conversationId,
      status: end === undefined ? 'in_progress' : STATUS[end.status],
      ...(end !== undefined && { status_details: toDetails(end) }),
      output: [...this.#output],
      output_modalities: [this.answer?.modality ?? modality],
      audio: { output: { format: toWireFormat(outputFormat), ...(voice !== undefined && { voice }) } },
      max_output_tokens: 'inf',
      metadata: this.#metadata === null ? null : { ...this.#metadata },
      ...(end !== undefined && { usage: toUsage(end.usage) })
    }
  }
}

/** An answer as an item: with what was played, if it was stopped. */
export function toMessage(
  answer: Pick<OpenAnswer, 'itemId' | 'modality' | 'text' | 'playedText'>,
  given: 'in_progress' | 'completed' | 'incomplete'
): AssistantMessage {
  const { itemId, modality, playedText } = answer
  const text = playedText ?? answer.text
  const status = playedText === undefined ? given : 'incomplete'
  const content: AssistantMessage['content'] =
    modality === 'audio' ? [{ type: 'output_audio', transcript: text }] : [{ type: 'output_text', text }]
  return {
    id: itemId,
    object: 'realtime.item',
    type: 'message',
    status,
    role: 'assistant',
    content: status === 'in_progress' ? [] : content
  }
}

const STATUS = {
  completed: 'completed',
  interrupted: 'cancelled',
  canceled: 'cancelled',
  failed: 'failed'
} as const

function toDetails({ status, error }: ResponseEnd): NonNullable<Response['status_details']> {
  const type = STATUS[status]
  if (status === 'interrupted') return { type, reason: 'turn_detected' }
  if (status === 'canceled') return { type, reason: 'client_cancelled' }
  return { type, ...(error !== undefined && { error: { type: 'server_error', ...error } }) }
}

function toUsage({ promptTokens, completionTokens, totalTokens, cachedPromptTokens = 0 }: Usage) {
  return {
    total_tokens: totalTokens,
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    input_token_details: { cached_tokens: cachedPromptTokens }
  }
}
