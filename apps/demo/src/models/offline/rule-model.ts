import { randomUUID } from 'node:crypto'
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { scriptedModel, type ScriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import { readPrompt, type Call, type Conversation } from './conversation.ts'

/** What a model does next: calls tools, with a note for itself if it needs one, or answers. */
export type Move = { calls: Call[]; note?: string } | { answer: string }

const CHARACTERS_PER_TOKEN = 4
const MAX_CHUNKS = 400

/** Makes a stateless model from a function that chooses the next move. Its token counts are an estimate. */
export function ruleModel(
  modelId: string,
  choose: (conversation: Conversation, options: LanguageModelV4CallOptions) => Move,
  delay = 0
): ScriptedModel {
  return scriptedModel(
    (options) => ({
      ...toTurn(choose(readPrompt(options.prompt), options), options.prompt),
      ...(delay > 0 && { delay })
    }),
    { provider: 'offline', modelId, record: false, supportedUrls: {} }
  )
}

function toTurn(move: Move, prompt: LanguageModelV4Prompt): ScriptedTurn {
  const text = toChunks('answer' in move ? move.answer : (move.note ?? ''))
  const calls = 'calls' in move ? move.calls : []
  // File data is not read, so it costs nothing.
  const read = JSON.stringify(prompt, (key, value: unknown) => (key === 'data' ? undefined : value))
  return {
    text,
    toolCalls: calls.map((call) => ({ ...call, toolCallId: `call_${randomUUID()}` })),
    usage: { promptTokens: tokensOf(read), completionTokens: tokensOf(JSON.stringify(move)) }
  }
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}

// One word each, or several if the text is long.
function toChunks(text: string): string[] {
  const words = text.match(/\s*\S+|\s+$/g) ?? []
  const size = Math.max(1, Math.ceil(words.length / MAX_CHUNKS))
  return words.flatMap((_, at) => (at % size === 0 ? [words.slice(at, at + size).join('')] : []))
}
