import { PartSchema } from '../contract/part.ts'
import { RunRecordSchema } from '../contract/run-record.ts'
import { SessionMessageSchema } from '../contract/ports/session-store.ts'

const SCHEMAS = [PartSchema, RunRecordSchema, SessionMessageSchema]
const WORDS = JSON.stringify(SCHEMAS, (name, value: unknown) => (name === 'description' ? undefined : value))

/** Whether a text is in a word that parts, records and sessions are made of: without it none of them could be read. */
export function isOwnWord(text: string): boolean {
  return WORDS.includes(text)
}
