import type { MessagePart } from './message.ts'

/** The media types of services that name no others. */
export const DEFAULT_MODES: readonly string[] = Object.freeze(['text/plain', 'application/json'])

/** What clients of early versions call the kinds of parts. */
const KINDS = new Map([
  ['text', 'text/*'],
  ['data', 'application/json'],
  ['file', '*/*']
])

/** True if one of the modes, which may be wildcards, has the media type. */
export function hasType(modes: readonly string[], type: string): boolean {
  const wanted = essenceOf(type)
  return modes.some((mode) => covers(essenceOf(mode), wanted))
}

/** True if one of the modes is a text, of any kind. */
export function hasText(modes: readonly string[]): boolean {
  return modes.some((mode) => isText(essenceOf(mode)))
}

/**
 * True if a part is of one of the modes. A text of no other type is any kind of text, and a file without a type of any
 * mode.
 */
export function hasPart(modes: readonly string[], part: MessagePart): boolean {
  const { mediaType } = part
  if ('text' in part && (mediaType === undefined || isText(essenceOf(mediaType)))) return hasText(modes)
  if ('data' in part) return hasType(modes, mediaType ?? 'application/json')
  return mediaType === undefined || hasType(modes, mediaType)
}

/** True if a part can be of a mode of both lists. */
export function haveCommon(some: readonly string[], others: readonly string[]): boolean {
  if (hasText(some) && hasText(others)) return true
  return some.some((mode) => hasType(others, mode)) || others.some((mode) => hasType(some, mode))
}

// Without parameters. RFC 9110, section 8.3.1: case-insensitive.
function essenceOf(mode: string): string {
  const end = mode.indexOf(';')
  const essence = (end < 0 ? mode : mode.slice(0, end)).trim().toLowerCase()
  return KINDS.get(essence) ?? essence
}

function isText(essence: string): boolean {
  return essence === '*/*' || essence.startsWith('text/')
}

function covers(mode: string, type: string): boolean {
  return mode === type || mode === '*/*' || (mode.endsWith('/*') && type.startsWith(mode.slice(0, -1)))
}
