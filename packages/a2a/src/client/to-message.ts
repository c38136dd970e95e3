import type { FileContentPart, RunInput, ContentPart } from '@svc/contract'
import type { Message, MessagePart } from '../model/message.ts'

type AnyPart = ContentPart | FileContentPart

/** The parts of a message for the input of a runnable. */
export async function toMessageParts(input: RunInput): Promise<MessagePart[]> {
  if (typeof input === 'string') return [{ text: input }]
  if (!isContent(input)) return [{ data: input }]
  return Promise.all(input.map(toMessagePart))
}

/** A user's message. */
export function toMessage(messageId: string, parts: MessagePart[], more: Partial<Message>): Message {
  return { messageId, role: 'user', parts, ...more }
}

function isContent(input: RunInput): input is AnyPart[] {
  const types = ['text', 'image', 'audio', 'file']
  return (
    Array.isArray(input) &&
    input.length > 0 &&
    input.every((part) => types.includes((part as AnyPart | null)?.type ?? ''))
  )
}

async function toMessagePart(part: AnyPart): Promise<MessagePart> {
  if (part.type === 'text') return { text: part.text }
  const about = { mediaType: part.mimeType, ...(part.filename !== undefined && { filename: part.filename }) }
  if ('url' in part) return { url: part.url, ...about }
  if ('data' in part) return { raw: part.data, ...about }
  const chunks: Uint8Array[] = []
  for await (const chunk of part.file.stream()) chunks.push(chunk)
  return { raw: Buffer.concat(chunks).toString('base64'), ...about }
}
