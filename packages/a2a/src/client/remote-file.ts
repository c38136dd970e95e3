import type { PartOf } from '@svc/registry'
import type { MessagePart } from '../model/message.ts'

const MAX_URL = 8_192
const MAX_TYPE = 255
const MAX_NAME = 1_024
const MAX_PURPOSE = 64

/** The part of a file that a service refers to by its URL; undefined for other parts, and for URLs that are not of HTTP. */
export function toFilePart(part: MessagePart): PartOf<'file'> | undefined {
  if (!('url' in part) || !isHttp(part.url)) return undefined
  const { url, mediaType, filename, metadata = {} } = part
  const { size, sha256, purpose } = metadata
  return {
    type: 'file',
    url,
    mimeType: shortText(mediaType, MAX_TYPE) ?? 'application/octet-stream',
    ...optional('filename', shortText(filename, MAX_NAME)),
    ...optional('size', Number.isSafeInteger(size) && Number(size) >= 0 ? Number(size) : undefined),
    ...optional('sha256', /^[\da-f]{64}$/.test(String(sha256)) ? String(sha256) : undefined),
    ...optional('purpose', shortText(purpose, MAX_PURPOSE))
  }
}

function isHttp(text: string): boolean {
  return text.length <= MAX_URL && /^https?:$/.test(URL.parse(text)?.protocol ?? '')
}

function shortText(value: unknown, maxLength: number): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maxLength ? value : undefined
}

function optional<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>)
}
