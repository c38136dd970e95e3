import type { PartOf } from '@svc/contract'
import type { MadeFile } from '@svc/surface'
import type { MessagePart } from '../model/message.ts'

const MAX_URL = 8_192
const MAX_TYPE = 255
const MAX_NAME = 1_024
const MAX_PURPOSE = 64

/** A file with its bytes, in base64. */
export interface RemoteFile extends Omit<MadeFile, 'data' | 'toolCallId'> {
  readonly type: 'bytes'
  readonly data: string
}

/** The file of a part, by its URL or with its bytes; undefined for other parts, and for URLs that are not of HTTP. */
export function toFile(part: MessagePart): PartOf<'file'> | RemoteFile | undefined {
  if ('raw' in part) return { type: 'bytes', data: part.raw, ...aboutOf(part) }
  if (!('url' in part) || !isHttp(part.url)) return undefined
  const { size, sha256 } = part.metadata ?? {}
  return {
    type: 'file',
    url: part.url,
    ...aboutOf(part),
    ...optional('size', Number.isSafeInteger(size) && Number(size) >= 0 ? Number(size) : undefined),
    ...optional('sha256', /^[\da-f]{64}$/.test(String(sha256)) ? String(sha256) : undefined)
  }
}

function aboutOf({ mediaType, filename, metadata = {} }: MessagePart) {
  return {
    mimeType: shortText(mediaType, MAX_TYPE) ?? 'application/octet-stream',
    ...optional('filename', shortText(filename, MAX_NAME)),
    ...optional('purpose', shortText(metadata['purpose'], MAX_PURPOSE))
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
