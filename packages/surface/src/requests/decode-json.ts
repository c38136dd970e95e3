import { isUtf8 } from 'node:buffer'
import { findJsonFault } from '@svc/contract'

/** An error class whose constructor takes the fault. */
export type FaultClass = new (fault: string) => Error

/**
 * Decodes untrusted UTF-8 JSON and rejects unsafe values: nested deeper than `maxDepth` levels, with keys that reach a prototype, or
 * with lone surrogates, which no text encoding can carry.
 * @throws the given error
 */
export function decodeJson(bytes: Buffer, maxDepth: number, BadJson: FaultClass): unknown {
  if (bytes.length === 0) throw new BadJson('the body is empty')
  if (!isUtf8(bytes)) throw new BadJson('it is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8', startsWithBom(bytes) ? 3 : 0))
  } catch {
    throw new BadJson('it cannot be parsed')
  }
  const fault = findJsonFault(value, maxDepth)
  if (fault !== undefined) throw new BadJson(fault)
  return value
}

// RFC 8259, section 8.1: a parser may ignore it.
function startsWithBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The maximum length of an untrusted name in a message. */
const MAX_LENGTH = 64
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** Quotes an untrusted name for a message: at most 64 characters, with `?` for unprintable ones. */
export function quoteName(name: unknown): string {
  return `"${String(name).slice(0, MAX_LENGTH).replace(UNPRINTABLE, '?')}"`
}
