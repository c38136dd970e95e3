import { createHash } from 'node:crypto'
import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'

/** What a vendor demands of the ids of tool calls, and a word that its package is known by. */
const ID_RULES: readonly (readonly [vendor: RegExp, id: RegExp, length: number])[] = [
  [/mistral/, /^[A-Za-z0-9]{9}$/, 9],
  [/anthropic|bedrock/, /^[\w-]{1,64}$/, 40],
  // Others take any characters.
  [/(?:)/, /^.{1,64}$/s, 40]
]
// Mistral takes no user message after the result of a tool.
const BETWEEN: LanguageModelV4Message = {
  role: 'assistant',
  content: [{ type: 'text', text: '[Continued.]' }]
}

/**
 * A prompt as the vendor of a model takes it: ids of tool calls, which may come from a client or from the model of another vendor, and
 * the order of messages. Returns the same prompt if nothing is to be changed.
 */
export function toVendorPrompt(prompt: LanguageModelV4Prompt, provider: string): LanguageModelV4Prompt {
  const [, fitting, length] = ID_RULES.find(([vendor]) => vendor.test(provider))!
  const fitted = prompt.some((message) => idsOf(message).some((id) => !fitting.test(id)))
    ? prompt.map((message) => withIds(message, (id) => (fitting.test(id) ? id : hash(id, length))))
    : prompt
  return provider.startsWith('mistral') ? withAnswers(fitted) : fitted
}

const NO_IDS: readonly string[] = []

/** The ids of the tool calls in a prompt. */
export function callIdsOf(prompt: LanguageModelV4Prompt): Set<string> {
  return new Set(prompt.flatMap((message) => (message.role === 'assistant' ? idsOf(message) : [])))
}

function idsOf(message: LanguageModelV4Message): readonly string[] {
  if (message.role !== 'assistant' && message.role !== 'tool') return NO_IDS
  const ids: string[] = []
  for (const part of message.content) if ('toolCallId' in part) ids.push(part.toolCallId)
  return ids
}

function withIds(message: LanguageModelV4Message, map: (id: string) => string): LanguageModelV4Message {
  if (message.role !== 'assistant' && message.role !== 'tool') return message
  const content = (message.content as readonly object[]).map((part) =>
    'toolCallId' in part ? { ...part, toolCallId: map(part.toolCallId as string) } : part
  )
  return { ...message, content } as typeof message
}

// Digits of a hash: the call and its result get the same.
function hash(id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length)
}

function withAnswers(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message, index) =>
    message.role === 'user' && prompt[index - 1]?.role === 'tool' ? [BETWEEN, message] : [message]
  )
}
