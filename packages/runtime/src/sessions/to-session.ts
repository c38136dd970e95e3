import type { Awaitable, ContentPart, ContentReference, MessageInput, SessionMessage } from '@svc/registry'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import type { ToolOutcome } from '../tools/call-tool.ts'

type UserMessage = Extract<SessionMessage, { role: 'user' }>

/** What a user said as a session keeps it: of binary content what it was, not the bytes. */
export function toSessionInput(input: MessageInput): Awaitable<UserMessage> {
  return typeof input === 'string' ? { role: 'user', content: input } : toReferences(input)
}

async function toReferences(input: readonly ContentPart[]): Promise<UserMessage> {
  return { role: 'user', content: await Promise.all(input.map(toReference)) }
}

/** Binary content as sessions keep it; any other part as it is. */
export async function toReference(part: ContentPart) {
  if (part.type === 'text' || 'url' in part) return part
  const { type, mimeType, filename, data } = part
  const bytes = Buffer.from(data, 'base64')
  const sha256 = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
  const reference: ContentReference = { type, mimeType, sha256, size: bytes.length }
  return filename === undefined ? reference : { ...reference, filename }
}

/** One step of a turn as a session keeps it; nothing for an answer without content. */
export function toSessionStep(
  answer: ModelAnswer,
  outcomes: readonly ToolOutcome<ModelToolCall>[]
): SessionMessage[] {
  const { text } = answer
  if (outcomes.length === 0) return text === '' ? [] : [{ role: 'assistant', text }]
  const toolCalls = outcomes.map(({ call: { promptPart } }) => {
    const { toolCallId, toolName, input } = promptPart
    return { toolCallId, toolName, args: input }
  })
  return [{ role: 'assistant', text, toolCalls }, ...outcomes.map(toToolMessage)]
}

function toToolMessage({ call, result, error }: ToolOutcome<ModelToolCall>): SessionMessage {
  const { toolCallId, toolName } = call.promptPart
  return { role: 'tool', toolCallId, toolName, ...(error === undefined ? { result } : { error }) }
}
