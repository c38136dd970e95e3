import type { Awaitable, ContentPart, MessageInput, PartOf, SessionMessage } from '@svc/contract'
import { toReference } from '../files/content-reference.ts'
import type { ModelAnswer, ModelToolCall } from '../models/model-answer.ts'
import type { ToolOutcome } from '../tool-calls/tool-outcome.ts'

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
