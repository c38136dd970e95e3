import type { ContentPart, RunInput } from '@svc/contract'
import { contentOfFile } from '@svc/surface'
import { AGUI_ERR_BAD_MESSAGE } from '../errors.ts'
import type { AgUiMessage } from '../wire/input.ts'

/** The kinds of media, and the type of a URL that names none, which is a guess. */
const MEDIA: ReadonlyMap<unknown, string> = new Map([
  ['image', 'image/png'],
  ['audio', 'audio/mpeg'],
  ['video', 'video/mp4'],
  ['document', 'application/octet-stream']
])

/**
 * The input for a message of the user: a text if all of it is text, else content parts.
 * @throws AGUI_ERR_BAD_MESSAGE
 */
export function toInput({ content }: Pick<AgUiMessage, 'content'>): RunInput {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw new AGUI_ERR_BAD_MESSAGE('its content must be a text or a list of parts')
  const parts = content.map(toPart)
  if (parts.length === 0) throw new AGUI_ERR_BAD_MESSAGE('it has no content')
  if (!parts.every((part) => part.type === 'text')) return parts
  return parts.map(({ text }) => text).join('\n')
}

/** The texts of messages of the system and of the app's developer, joined; undefined if there are none. */
export function toInstructions(messages: readonly AgUiMessage[]): string | undefined {
  const texts = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .flatMap(({ content }) => (typeof content === 'string' && content !== '' ? [content] : []))
  return texts.length > 0 ? texts.join('\n\n') : undefined
}

type Fields = Record<string, unknown>

function toPart(part: unknown): ContentPart {
  const fields = (typeof part === 'object' && part !== null ? part : {}) as Fields
  const { type } = fields
  if (type === 'text') return { type, text: textOf(fields, 'text', 'text') }
  if (type === 'binary') return toBinary(fields)
  const usual = MEDIA.get(type)
  if (typeof type !== 'string' || usual === undefined)
    throw new AGUI_ERR_BAD_MESSAGE('its parts must be text, image, audio, video or document')
  const source = (fields['source'] ?? {}) as Fields
  const filename = (fields['metadata'] as Fields | null | undefined)?.['filename']
  const about = typeof filename === 'string' ? { filename } : {}
  const value = textOf(source, 'value', type)
  if (source['type'] === 'data')
    return contentOfFile({
      url: `data:;base64,${value}`,
      mimeType: optionalText(source, 'mimeType'),
      ...about
    })
  if (source['type'] !== 'url')
    throw new AGUI_ERR_BAD_MESSAGE(`the source of its ${type} part must be data or url`)
  return contentOfFile({ url: value, mimeType: optionalText(source, 'mimeType') ?? usual, ...about })
}

// As clients before version 1.0 send files.
function toBinary(fields: Fields): ContentPart {
  const mimeType = optionalText(fields, 'mimeType')
  const about = { mimeType, filename: optionalText(fields, 'filename') }
  const data = optionalText(fields, 'data')
  if (data !== undefined) return contentOfFile({ url: `data:;base64,${data}`, ...about })
  const url = optionalText(fields, 'url')
  if (url === undefined) throw new AGUI_ERR_BAD_MESSAGE('its binary part must have data or a url')
  return contentOfFile({ url, ...about })
}

function optionalText(fields: Fields, field: string): string | undefined {
  const value = fields[field]
  return typeof value === 'string' ? value : undefined
}

function textOf(fields: Fields, field: string, type: string): string {
  const value = fields[field]
  if (typeof value === 'string') return value
  throw new AGUI_ERR_BAD_MESSAGE(`the ${field} of its ${type} part must be a text`)
}
