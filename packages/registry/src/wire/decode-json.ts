import { isUtf8 } from 'node:buffer'
import { findJsonFault } from '../contract/json-fault.ts'

/** An error to throw, made with what is wrong. */
export type FaultClass = new (fault: string) => Error

/**
 * Decodes JSON in UTF-8 that is harmless to whatever handles it later: nested at most `maxDepth` levels, no key that reaches
 * a prototype, and no half of a surrogate pair, which no encoding of text could carry.
 * @throws the given error
 */
export function decodeJson(bytes: Buffer, maxDepth: number, BadJson: FaultClass): unknown {
  if (bytes.length === 0) throw new BadJson('the body is empty')
  if (!isUtf8(bytes)) throw new BadJson('it is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    throw new BadJson('it cannot be parsed')
  }
  const fault = findJsonFault(value, maxDepth)
  if (fault !== undefined) throw new BadJson(fault)
  return value
}

/** Characters of a stranger's name that are repeated to him. */
const MAX_LENGTH = 64
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

/** A name as a stranger sent it, for a message: in quotes, of at most 64 characters, with `?` for what cannot be printed. */
export function quoteName(name: unknown): string {
  return `"${String(name).slice(0, MAX_LENGTH).replace(UNPRINTABLE, '?')}"`
}
