import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart
} from '@ai-sdk/provider'
import {
  isBlank,
  type Awaitable,
  type ContentPart,
  type ContentReference,
  type MessageInput,
  type PartOf,
  type SessionMessage,
  type ToolError
} from '@svc/contract'
import { toReference, type UrlSupport } from '../files/urls.ts'
import { appendMessage, toObject } from '../models/prompt-content.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import type { ToolOutcome } from '../tool-calls/call-journal.ts'
import type { ToolContentPart } from '../tools/tool-content.ts'
import { toToolName, unusedName } from '../tools/tool-set.ts'

type ResultPart = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]
type ToolMessage = Extract<SessionMessage, { role: 'tool' }>
type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** Appends a conversation to a prompt; replaces unsupported URLs with a text that names them. */
export function pushHistory(
  prompt: LanguageModelV4Message[],
  messages: readonly SessionMessage[],
  supports: UrlSupport
): void {
  // Models repeat ids in later turns, and providers refuse that.
  const taken = new Set<string>()
  for (let at = 0; at < messages.length;) {
    const message = messages[at++]!
    if (message.role === 'user') appendMessage(prompt, toUserMessage(message.content, supports))
    if (message.role !== 'assistant') continue
    const ids = new Map<string, string>()
    for (const { toolCallId } of message.toolCalls ?? []) ids.set(toolCallId, unusedName(toolCallId, taken))
    const answer = toAssistantContent(message, ids)
    const results: LanguageModelV4ToolResultPart[] = []
    for (let next = messages[at]; next?.role === 'tool'; next = messages[++at]) {
      const part = toResultPart(next, ids)
      // Results of the provider's own calls are a part of the answer that has the calls.
      if (answer.some((each) => isProviderCall(each, part.toolCallId))) answer.push(part)
      else results.push(part)
    }
    appendMessage(prompt, { role: 'assistant', content: answer })
    appendMessage(prompt, { role: 'tool', content: results })
  }
}

function toResultPart(
  { toolCallId, toolName, result, error }: ToolMessage,
  ids: ReadonlyMap<string, string>
): LanguageModelV4ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: ids.get(toolCallId) ?? toolCallId,
    toolName: toToolName(toolName),
    output: toResultOutput(result, error)
  }
}

function isProviderCall(part: AssistantPart, toolCallId: string): boolean {
  return part.type === 'tool-call' && part.providerExecuted === true && part.toolCallId === toolCallId
}

/** Converts a user message for the prompt; without `supports`, keeps every URL. */
export function toUserMessage(
  content: MessageInput | readonly (ContentPart | ContentReference)[],
  supports: UrlSupport = () => true
): LanguageModelV4Message {
  if (typeof content === 'string') return { role: 'user', content: [{ type: 'text', text: content }] }
  return { role: 'user', content: content.map((part) => toUserPart(part, supports)) }
}

/** Converts the outcome of a tool call for the prompt. */
export function toResultOutput(
  result: unknown,
  error: ToolError | undefined,
  content?: readonly ToolContentPart[]
): LanguageModelV4ToolResultOutput {
  if (error !== undefined)
    return { type: 'error-text', value: isBlank(error.message) ? error.code : error.message }
  const shown = content?.filter((part) => part.type !== 'text' || !isBlank(part.text)) ?? []
  if (shown.length > 0) return { type: 'content', value: shown.map(toContentPart) }
  // Providers refuse blank texts: as JSON they are none.
  return typeof result === 'string' && !isBlank(result)
    ? { type: 'text', value: result }
    : { type: 'json', value: (result ?? null) as never }
}

function toContentPart(part: ToolContentPart): ResultPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { mimeType: mediaType, data, filename } = part
  return {
    type: 'file',
    mediaType,
    data: { type: 'data', data },
    ...(filename !== undefined && { filename })
  }
}

function toUserPart(
  part: ContentPart | ContentReference,
  supports: UrlSupport
): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if ('sha256' in part) return describe(part, `${part.size} bytes`)
  const { mimeType: mediaType, filename } = part
  const name = filename === undefined ? {} : { filename }
  if ('data' in part) return { type: 'file', mediaType, data: { type: 'data', data: part.data }, ...name }
  const url = URL.parse(part.url)
  if (url === null || !supports(url, mediaType)) return describe(part, part.url)
  return { type: 'file', mediaType, data: { type: 'url', url }, ...name }
}

function describe(
  { type, filename, mimeType }: Pick<ContentReference, 'type' | 'filename' | 'mimeType'>,
  detail: string,
  origin: 'sent' | 'made' = 'sent'
): LanguageModelV4TextPart {
  const name = filename === undefined ? type : `${type} ${filename}`
  return { type: 'text', text: `[${name}, ${mimeType}, ${detail}, ${origin} earlier]` }
}

const INTERRUPTED = '[interrupted here]'

function toAssistantContent(
  { text: said, interrupted, files = [], toolCalls = [] }: AssistantMessage,
  ids: ReadonlyMap<string, string>
): AssistantPart[] {
  const text = interrupted === true ? `${said} ${INTERRUPTED}`.trimStart() : said
  const calls = toolCalls.map(({ toolCallId, toolName, args, providerExecuted }) => ({
    type: 'tool-call' as const,
    toolCallId: ids.get(toolCallId) ?? toolCallId,
    toolName: toToolName(toolName),
    input: toObject(args),
    ...(providerExecuted === true && { providerExecuted })
  }))
  const made = files.map((file) => describe(file, 'url' in file ? file.url : `${file.size} bytes`, 'made'))
  return [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...made, ...calls]
}

/** An answer of a session. */
export type AssistantMessage = Extract<SessionMessage, { role: 'assistant' }>
type UserMessage = Extract<SessionMessage, { role: 'user' }>
type FileReference = NonNullable<AssistantMessage['files']>[number]

/** Converts an input for the session; binary content becomes a reference without the bytes. */
export function toSessionInput(input: MessageInput): Awaitable<UserMessage> {
  return typeof input === 'string' ? { role: 'user', content: input } : toReferences(input)
}

async function toReferences(input: readonly ContentPart[]): Promise<UserMessage> {
  return { role: 'user', content: await Promise.all(input.map(toReference)) }
}

/** Converts one step of a turn for the session; empty for an answer without content. */
export function toSessionStep(
  answer: ModelAnswer,
  outcomes: readonly ToolOutcome<ModelToolCall>[]
): SessionMessage[] {
  const { text, providerOutcomes } = answer
  const files = answer.files.length === 0 ? {} : { files: answer.files.map(toFileReference) }
  if (outcomes.length + providerOutcomes.length === 0)
    return text === '' && answer.files.length === 0 ? [] : [{ role: 'assistant', text, ...files }]
  const ofProvider = providerOutcomes.map(({ call }) => ({ ...call, providerExecuted: true }))
  const toolCalls = outcomes.map(({ call: { promptPart } }) => {
    const { toolCallId, toolName, input } = promptPart
    return { toolCallId, toolName, args: input }
  })
  return [
    { role: 'assistant', text, ...files, toolCalls: [...ofProvider, ...toolCalls] },
    ...providerOutcomes.map(({ call, ...outcome }) => toToolMessage(call, outcome)),
    ...outcomes.map(({ call: { promptPart }, ...outcome }) => toToolMessage(promptPart, outcome))
  ]
}

function toFileReference({ mimeType, filename, url, sha256 = '', size = 0 }: PartOf<'file'>): FileReference {
  const [top] = mimeType.split('/')
  const type = top === 'image' || top === 'audio' ? top : 'file'
  const file = { type, mimeType, ...(filename !== undefined && { filename }) } as const
  return url === undefined ? { ...file, sha256, size } : { ...file, url }
}

function toToolMessage(
  { toolCallId, toolName }: { toolCallId: string; toolName: string },
  { result, error }: Pick<ToolOutcome, 'result' | 'error'>
): SessionMessage {
  return { role: 'tool', toolCallId, toolName, ...(error === undefined ? { result } : { error }) }
}
