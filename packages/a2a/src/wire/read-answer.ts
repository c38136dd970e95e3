import { A2A_ERR_BAD_ANSWER } from '../errors.ts'

/** An unchecked object. */
export type Fields = Record<string, unknown>

/** @throws A2A_ERR_BAD_ANSWER */
export function fields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badAnswer('an object is missing')
  return value as Fields
}

/** A string; empty if missing. @throws A2A_ERR_BAD_ANSWER */
export function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw badAnswer('a text is missing')
  return value
}

/** Characters of an id: some are kept as long as a session. */
const MAX_ID = 1_024

/** An id; empty if missing. @throws A2A_ERR_BAD_ANSWER */
export function id(value: unknown): string {
  const given = text(value)
  if (given.length > MAX_ID) throw badAnswer(`an id is too long, over ${MAX_ID} characters`)
  return given
}

/** A list without nulls; empty if missing. @throws A2A_ERR_BAD_ANSWER */
export function list(value: unknown): unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw badAnswer('a list is missing')
  return value.filter((each) => each !== null)
}

export function badAnswer(why: string): Error {
  return new A2A_ERR_BAD_ANSWER(why)
}
