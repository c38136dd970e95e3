import { createHash } from 'node:crypto'
import type {
  LanguageModelV4File,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningFile,
  LanguageModelV4ReasoningFilePart,
  SharedV4ProviderMetadata
} from '@ai-sdk/provider'
import { defined, isBlank } from '@svc/contract'
import { wellFormed } from '../json/json.ts'

/** The content of a model's answer, as the next prompt has it. */
export type AnswerContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** Arguments for a prompt, where providers require an object. */
export function toObject(args: unknown): object {
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : {}
}

/** A file of a model for the next prompt; its bytes are base64, so that they can be recorded as JSON. */
export function toPromptFile({
  type,
  mediaType,
  data,
  providerMetadata
}: LanguageModelV4File | LanguageModelV4ReasoningFile):
  | LanguageModelV4FilePart
  | LanguageModelV4ReasoningFilePart {
  return {
    type,
    mediaType,
    data: data.type === 'url' ? data : { type: 'data', data: toBase64(data.data) },
    ...defined({ providerOptions: providerMetadata })
  }
}

/** A prompt that was recorded as JSON, which has the texts of URLs only. */
export function restorePrompt(prompt: LanguageModelV4Prompt): LanguageModelV4Message[] {
  return prompt.map((message) =>
    message.role === 'user' || message.role === 'assistant'
      ? ({ ...message, content: (message.content as AnswerContent).map(restoreUrl) } as typeof message)
      : message
  )
}

/** A part that was recorded as JSON, with its URL. */
export function restoreUrl(part: AnswerContent[number]): AnswerContent[number] {
  if (!('data' in part) || part.data.type !== 'url') return part
  return { ...part, data: { ...part.data, url: new URL(part.data.url) } }
}

/** True for a part that providers refuse: a blank text. A reasoning without text may still hold a signature. */
function isEmpty(part: AnswerContent[number]): boolean {
  if (part.type === 'text') return isBlank(part.text)
  return part.type === 'reasoning' && part.text === '' && part.providerOptions === undefined
}

function toBase64(data: string | Uint8Array): string {
  if (typeof data === 'string') return data
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}

/** Adds what the provider expects back with a part. */
export function withOptions<P extends object>(part: P, metadata: SharedV4ProviderMetadata | undefined) {
  return metadata === undefined ? part : { ...part, providerOptions: metadata }
}

type Content = Exclude<LanguageModelV4Message, { role: 'system' }>['content']

// Conversations begin with the user for most providers.
const BEGINNING: LanguageModelV4Message = {
  role: 'user',
  content: [{ type: 'text', text: '[The conversation begins.]' }]
}

/**
 * Appends a message to a prompt as all providers take it. Every message of a prompt comes this way: blank texts are left out, and a
 * message that has nothing else; consecutive messages of one role become one; texts have no halves of surrogate pairs.
 */
export function appendMessage(
  prompt: LanguageModelV4Message[],
  given: LanguageModelV4Message | undefined
): void {
  const message = given && withoutBlanks(wellFormed(given))
  if (message === undefined) return
  const last = prompt.at(-1)
  if (message.role !== 'system' && message.role === last?.role) {
    prompt[prompt.length - 1] = {
      ...last,
      content: join(last.content, message.content, message.role)
    } as typeof message
    return
  }
  if (message.role === 'assistant' && (last === undefined || last.role === 'system')) prompt.push(BEGINNING)
  prompt.push(message)
}

function withoutBlanks(message: LanguageModelV4Message): LanguageModelV4Message | undefined {
  if (message.role === 'system') return isBlank(message.content) ? undefined : message
  if (message.role === 'tool') return message.content.length === 0 ? undefined : message
  const content = message.content.some(isEmpty)
    ? message.content.filter((part) => !isEmpty(part))
    : message.content
  // Providers take no reasoning without what it led to.
  if (content.every(({ type }) => type === 'reasoning' || type === 'custom')) return undefined
  return content === message.content ? message : ({ ...message, content } as typeof message)
}

// Some provider packages put the texts of an answer together without anything in between.
function join(before: Content, after: Content, role: string): Content {
  const last = before.at(-1)
  const [first, ...rest] = after
  if (
    role !== 'assistant' ||
    last?.type !== 'text' ||
    first?.type !== 'text' ||
    last.providerOptions ||
    first.providerOptions
  )
    return [...before, ...after] as Content
  const text = `${last.text}\n\n${first.text}`
  return [...before.slice(0, -1), { type: 'text', text }, ...rest] as Content
}

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
  if (!prompt.some(mayHaveIds)) return prompt
  const [, fitting, length] = ID_RULES.find(([vendor]) => vendor.test(provider))!
  const fitted = prompt.some((message) => idsOf(message).some((id) => !fitting.test(id)))
    ? prompt.map((message) => withIds(message, (id) => (fitting.test(id) ? id : hash(id, length))))
    : prompt
  return provider.startsWith('mistral') ? withAnswers(fitted) : fitted
}

function mayHaveIds({ role }: LanguageModelV4Message): boolean {
  return role === 'assistant' || role === 'tool'
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
