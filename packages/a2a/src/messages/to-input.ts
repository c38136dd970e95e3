import { defined, type ContentPart, type Runnable, type RunInput } from '@svc/contract'
import type { MessagePart } from '../model/message.ts'

/**
 * The input for the parts of a message: a text if all parts are text, else content parts. A runnable with an input schema gets
 * the data of a single data part.
 */
export function toInput(parts: readonly MessagePart[], { inputSchema }: Runnable): RunInput {
  const [first] = parts
  if (inputSchema !== undefined && parts.length === 1 && first !== undefined && 'data' in first)
    return first.data
  if (parts.every((part) => 'text' in part)) return textOf(parts)
  return parts.map(toContentPart)
}

/** The text parts, joined by newlines. */
export function textOf(parts: readonly MessagePart[]): string {
  const [first] = parts
  if (parts.length === 1 && first !== undefined && 'text' in first) return first.text
  return parts
    .filter((part) => 'text' in part)
    .map(({ text }) => text)
    .join('\n')
}

function toContentPart(part: MessagePart): ContentPart {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mimeType = part.mediaType || 'application/octet-stream'
  const about = { mimeType, ...defined({ filename: part.filename }) }
  const [family] = mimeType.split('/', 1)
  const type = family === 'image' || family === 'audio' ? family : 'file'
  return 'raw' in part ? { type, ...about, data: part.raw } : { type, ...about, url: part.url }
}
