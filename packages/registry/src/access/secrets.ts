import { PartSchema } from '../contract/part.ts'
import { RunRecordSchema } from '../contract/run-record.ts'
import { SessionMessageSchema } from '../contract/ports/session-store.ts'

/** A shorter key is no secret, and its letters would be in every line. */
const MIN_LENGTH = 8

/** A secret, and what it takes to look for it in one pass over a text (Knuth, Morris and Pratt). */
export interface Secret {
  readonly text: string
  /** For its first character, its first two, and so on: with how many of its own first characters, fewer than all, they end. */
  readonly borders: readonly number[]
}

/** Those of some keys that are worth hiding, each once: what everyone is told anyway is no secret. */
export function secretsAmong(keys: readonly string[]): Secret[] {
  return [...new Set(keys)].filter((key) => key.length >= MIN_LENGTH && !isOwnWord(key)).map(toSecret)
}

/** With how many first characters of the secret, at most all, a text ends that ended with `begun` of them and goes on with `code`. */
export function goOn({ text, borders }: Secret, begun: number, code: number): number {
  while (begun > 0 && text.charCodeAt(begun) !== code) begun = borders[begun - 1]!
  return text.charCodeAt(begun) === code ? begun + 1 : begun
}

function toSecret(text: string): Secret {
  const borders = [0]
  for (let at = 1; at < text.length; at++)
    borders.push(goOn({ text, borders }, borders[at - 1]!, text.charCodeAt(at)))
  return { text, borders }
}

const SCHEMAS = [PartSchema, RunRecordSchema, SessionMessageSchema]
const WORDS = JSON.stringify(SCHEMAS, (name, value: unknown) => (name === 'description' ? undefined : value))

/** Whether a text is in a word that parts, records and sessions are made of: without it none of them could be read. */
function isOwnWord(text: string): boolean {
  return WORDS.includes(text)
}
