import type { RunResult } from '@svc/contract'
import { hasPart, hasText, hasType } from '../model/media-types.ts'
import type { MessagePart } from '../model/message.ts'
import type { Outputs } from '../model/requests.ts'

/** The media types that a client accepts; undefined: any. */
export type Accepted = Outputs['accepted']

/** True if a client takes texts. */
export function takesText(accepted: Accepted): boolean {
  return accepted === undefined || hasText(accepted)
}

/** True if a client takes JSON as data. */
export function takesData(accepted: Accepted): boolean {
  return accepted === undefined || hasType(accepted, 'application/json')
}

/**
 * The parts of an answer for a client. Data is a text where only texts are taken. An answer that is the only output (`isOnly`) is sent as a
 * text even to a client that takes no texts.
 */
export function tailorAnswer(
  { text, structured }: Pick<RunResult, 'text' | 'structured'>,
  accepted: Accepted,
  isOnly: boolean
): MessagePart[] {
  const parts: MessagePart[] = []
  if (text !== '' && takesText(accepted)) parts.push({ text })
  if (structured !== null) {
    if (takesData(accepted)) parts.push({ data: structured })
    else if (takesText(accepted) && !isJsonOf(text, structured))
      parts.push({ text: JSON.stringify(structured) })
  }
  if (parts.length > 0 || !isOnly) return parts
  const rest = text === '' && structured !== null ? JSON.stringify(structured) : text
  return rest === '' ? [] : [{ text: rest }]
}

/** The parts that a client takes, data as a text where it takes only texts. */
export function tailorParts(parts: MessagePart[], accepted: Accepted): MessagePart[] {
  if (accepted === undefined) return parts
  return parts.flatMap((part) => {
    if (hasPart(accepted, part)) return part
    return 'data' in part && takesText(accepted) ? { text: JSON.stringify(part.data) } : []
  })
}

/** True if a text is the JSON of a value, as the answers of agents with a schema are. */
export function isJsonOf(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
  } catch {
    return false
  }
}
