import type { ContentPart } from '@svc/contract'
import { contentOfFile } from '@svc/surface'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'

/** A part of a message's content, of Responses or of Chat Completions. */
type Given = Readonly<Record<string, unknown>> & { readonly type?: unknown }

/**
 * Reads the content of a message: a text if all of it is text.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED
 */
export function readContent(content: unknown, param: string): string | ContentPart[] {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw new OPENAI_ERR_BAD_REQUEST(`${param} must be a text or a list of parts`)
  const parts = content.map((part) => readPart((part ?? {}) as Given, param))
  return parts.every((part) => part.type === 'text') ? parts.map(({ text }) => text).join('\n') : parts
}

/** The text of a content that takes no files, such as the result of a tool; of each file it has the link, the name or the type. */
export function textOfContent(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : labelOf(part))).join('\n')
}

function labelOf(file: Exclude<ContentPart, { type: 'text' }>): string {
  return `[${'url' in file ? file.url : (file.filename ?? file.mimeType)}]`
}

function readPart(part: Given, param: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: textOf(part, 'text', param) }
    case 'refusal':
      return { type: 'text', text: textOf(part, 'refusal', param) }
    case 'input_image':
      return toImage(textOf(part, 'image_url', param))
    case 'image_url': {
      const { image_url: image } = part
      return toImage(
        typeof image === 'string' ? image : textOf((image ?? {}) as Given, 'url', `${param}.image_url`)
      )
    }
    case 'input_file':
      return toFile(part, param)
    case 'file':
      return toFile((part['file'] ?? {}) as Given, `${param}.file`)
    case 'input_audio': {
      const audio = (part['input_audio'] ?? {}) as Given
      const format = textOf(audio, 'format', `${param}.input_audio`)
      const mimeType = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
      return { type: 'audio', mimeType, data: textOf(audio, 'data', `${param}.input_audio`) }
    }
    default:
      throw new OPENAI_ERR_UNSUPPORTED(`content of the type ${JSON.stringify(part.type ?? null)}`)
  }
}

// It is an image even if its URL does not say which.
function toImage(url: string): ContentPart {
  return contentOfFile({ url, ...(!url.startsWith('data:') && { mimeType: typeOfUrl(url) ?? 'image/*' }) })
}

function toFile(file: Given, param: string): ContentPart {
  const { file_url: link, file_data: data, filename } = file
  const url = typeof data === 'string' ? data : link
  if (typeof url !== 'string') throw new OPENAI_ERR_UNSUPPORTED(`${param} without file_data or file_url`)
  const mimeType = url.startsWith('data:')
    ? undefined
    : typeOfUrl(typeof filename === 'string' ? filename : url)
  const named = typeof filename === 'string' ? filename : undefined
  // Some clients send the base64 alone.
  if (typeof data === 'string' && !data.startsWith('data:'))
    return {
      type: 'file',
      mimeType: mimeType ?? 'application/octet-stream',
      data,
      ...(named && { filename: named })
    }
  return contentOfFile({ url, mimeType, filename: named })
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json'
}

function typeOfUrl(url: string): string | undefined {
  return TYPES[/\.(\w+)(?:[?#].*)?$/.exec(url)?.[1]?.toLowerCase() ?? '']
}

function textOf(part: Given, field: string, param: string): string {
  const value = part[field]
  if (typeof value === 'string') return value
  throw new OPENAI_ERR_BAD_REQUEST(`${param}: ${field} must be a string`)
}
