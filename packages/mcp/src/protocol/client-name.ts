import { hash } from 'node:crypto'

/** What all clients take as the name of a tool or a prompt: many refuse a server if one of its names does not fit. */
const CLIENT_NAME = /^[A-Za-z0-9_-]{1,64}$/
const MAX_LENGTH = 64
/** Hexadecimal digits of the hash. */
const DIGITS = 12
const HASHED = /_[0-9a-f]{12}$/

/**
 * A name that all clients take: the text itself, or as much of it as fits, and a hash of what is named. It depends on nothing else, so that
 * it is the same on each node and after a restart.
 * @param isClear false if the text could be the name of something else
 */
export function toClientName(text: string, isClear: boolean, named: readonly string[]): string {
  if (isClear && CLIENT_NAME.test(text)) return text
  const begin = text.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_LENGTH - DIGITS - 1)
  return `${begin}_${hash('sha256', JSON.stringify(named)).slice(0, DIGITS)}`
}

/** True if a name may end with a hash. */
export function isHashed(name: string): boolean {
  return HASHED.test(name)
}
