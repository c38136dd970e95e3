import type { ContentPart, Runnable, RunInput } from '@svc/contract'
import { contentOfFile } from '@svc/surface'
import { UI_ERR_BAD_MESSAGE } from '../errors.ts'
import type { UiMessage, UiPart } from '../wire/messages.ts'

/** The data part whose value is the input of a runnable with an input schema. */
export const INPUT_PART = 'data-input'

/**
 * The input for a user's message: a text if all parts are text, else content parts. A runnable with an input schema gets the
 * value of a `data-input` part. Other data parts are for the page alone.
 * @throws UI_ERR_BAD_MESSAGE
 */
export function toInput(
  { role, parts }: Pick<UiMessage, 'role' | 'parts'>,
  { inputSchema }: Pick<Runnable, 'inputSchema'>
): RunInput {
  if (role !== 'user') throw new UI_ERR_BAD_MESSAGE(`its role is "${role}", not "user"`)
  const given = parts.find(({ type }) => type === INPUT_PART)
  if (given !== undefined && inputSchema !== undefined) return given['data']
  const content = parts.flatMap(toContent)
  if (content.length === 0) throw new UI_ERR_BAD_MESSAGE('it has neither text nor files')
  if (!content.every((part) => part.type === 'text')) return content
  return content.map(({ text }) => text).join('\n')
}

function toContent(part: UiPart): ContentPart[] {
  const { type } = part
  if (type === 'text') return [{ type, text: textOf(part, 'text') }]
  if (type === 'file') {
    const { filename } = part
    if (filename !== undefined && filename !== null && typeof filename !== 'string')
      throw new UI_ERR_BAD_MESSAGE('the filename of a file must be a string')
    return [
      contentOfFile({
        url: textOf(part, 'url'),
        mimeType: part['mediaType'] === undefined ? undefined : textOf(part, 'mediaType'),
        filename: filename ?? undefined
      })
    ]
  }
  if (type.startsWith('data-')) return []
  throw new UI_ERR_BAD_MESSAGE('its parts must be text, files or data')
}

function textOf(part: UiPart, field: string): string {
  const value = part[field]
  if (typeof value === 'string') return value
  throw new UI_ERR_BAD_MESSAGE(`the ${field} of a ${part.type} part must be a string`)
}
