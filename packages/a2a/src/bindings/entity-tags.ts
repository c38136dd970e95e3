import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

/** The entity tag of a text. RFC 9110, section 8.8.3. */
export function tagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url')}"`
}

/** True if the client has what the tag names; undefined if the request has no tags. RFC 9110, section 13.1.2. */
export function hasTagged(
  { headers: { 'if-none-match': tags } }: Pick<FastifyRequest, 'headers'>,
  tag: string
): boolean | undefined {
  return tags?.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)
}
