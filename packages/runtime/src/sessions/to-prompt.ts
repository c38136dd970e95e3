import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart
} from '@ai-sdk/provider'
import {
  RUN_ERR_BAD_INPUT,
  type ContentPart,
  type ContentReference,
  type MessageInput,
  type SessionMessage,
  type ToolError
} from '@svc/registry'
import { toObject } from '../models/model-answer.ts'

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** A conversation as a model is shown it, added to a prompt. */
export function pushHistory(prompt: LanguageModelV4Message[], messages: readonly SessionMessage[]): void {
  let results: LanguageModelV4ToolResultPart[] | undefined
  for (const message of messages) {
    if (message.role !== 'tool') {
      results = undefined
      prompt.push(message.role === 'user' ? toUserMessage(message.content) : toAssistantMessage(message))
      continue
    }
    if (results === undefined) prompt.push({ role: 'tool', content: (results = []) })
    const { toolCallId, toolName, result, error } = message
    results.push({ type: 'tool-result', toolCallId, toolName, output: toResultOutput(result, error) })
  }
}

/** What a user says, as a model is shown it. @throws RUN_ERR_BAD_INPUT for a URL that cannot be passed on */
export function toUserMessage(
  content: MessageInput | readonly (ContentPart | ContentReference)[]
): LanguageModelV4Message {
  if (typeof content === 'string') return { role: 'user', content: [{ type: 'text', text: content }] }
  return { role: 'user', content: content.map(toUserPart) }
}

/** What came of a tool call, as a model is shown it. */
export function toResultOutput(
  result: unknown,
  error: ToolError | undefined
): LanguageModelV4ToolResultOutput {
  if (error !== undefined) return { type: 'error-text', value: error.message }
  return typeof result === 'string'
    ? { type: 'text', value: result }
    : { type: 'json', value: (result ?? null) as never }
}

function toUserPart(part: ContentPart | ContentReference): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if ('sha256' in part) return { type: 'text', text: describe(part) }
  const { mimeType: mediaType, filename } = part
  const data =
    'url' in part
      ? { type: 'url' as const, url: toUrl(part.url) }
      : { type: 'data' as const, data: part.data }
  return { type: 'file', mediaType, data, ...(filename !== undefined && { filename }) }
}

function describe({ type, filename, mimeType, size }: ContentReference): string {
  return `[${filename === undefined ? type : `${type} ${filename}`}, ${mimeType}, ${size} bytes, sent earlier]`
}

function toUrl(text: string): URL {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new RUN_ERR_BAD_INPUT('a url is not of http or https')
  return url
}

function toAssistantMessage({ text, toolCalls = [] }: Extract<SessionMessage, { role: 'assistant' }>) {
  const content: AssistantPart[] = text === '' ? [] : [{ type: 'text', text }]
  for (const { toolCallId, toolName, args } of toolCalls)
    content.push({ type: 'tool-call', toolCallId, toolName, input: toObject(args) })
  return { role: 'assistant' as const, content }
}
