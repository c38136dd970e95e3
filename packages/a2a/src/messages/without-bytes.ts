import { hash } from 'node:crypto'
import type { Message, MessagePart } from '../model/message.ts'

/**
 * A message as tasks keep it: its files have a hash and a size in their metadata instead of their bytes, which only the file store of
 * the run may have.
 */
export function withoutBytes(message: Message): Message {
  const { parts } = message
  return parts.some(hasBytes) ? { ...message, parts: parts.map(toReference) } : message
}

/** True for a file that is given by its bytes. */
export function hasBytes(part: MessagePart): part is Extract<MessagePart, { raw: string }> {
  return 'raw' in part
}

function toReference(part: MessagePart): MessagePart {
  if (!hasBytes(part)) return part
  const bytes = Buffer.from(part.raw, 'base64')
  const reference = { sha256: hash('sha256', bytes, 'hex'), size: bytes.length }
  return { ...part, raw: '', metadata: { ...part.metadata, ...reference } }
}
