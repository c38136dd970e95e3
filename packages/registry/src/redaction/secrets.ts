import { PartSchema, RunRecordSchema, SessionMessageSchema } from '@svc/contract'

/** Shorter keys are not secret; they would match parts of ordinary words. */
const MIN_LENGTH = 8

/** A secret with its failure table, to find it in one pass over a text (Knuth, Morris and Pratt). */
export interface Secret {
  readonly text: string
  /** KMP failure table: the length of the longest border of each prefix. */
  readonly borders: readonly number[]
}

/** The distinct keys worth hiding; keys that occur in the vocabulary of every answer are not secret. */
export function secretsAmong(keys: readonly string[]): Secret[] {
  return [...new Set(keys)].filter((key) => key.length >= MIN_LENGTH && !isVocabulary(key)).map(toSecret)
}

/** One KMP step: the length of the matched prefix of the secret after `matched` characters and the next character `code`. */
export function advance({ text, borders }: Secret, matched: number, code: number): number {
  while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1]!
  return text.charCodeAt(matched) === code ? matched + 1 : matched
}

function toSecret(text: string): Secret {
  const borders = [0]
  for (let at = 1; at < text.length; at++)
    borders.push(advance({ text, borders }, borders[at - 1]!, text.charCodeAt(at)))
  return { text, borders }
}

const SCHEMAS = [PartSchema, RunRecordSchema, SessionMessageSchema]
const WORDS = JSON.stringify(SCHEMAS, (name, value: unknown) => (name === 'description' ? undefined : value))

// Redacting a name or literal of parts, records and sessions would make them unreadable.
function isVocabulary(text: string): boolean {
  return WORDS.includes(text)
}
