import { isUtf8 } from 'node:buffer'
import { findJsonFault } from '@svc/registry'
import type { FastifyBodyParser } from 'fastify'
import { HTTP_ERR_BAD_JSON } from './errors.ts'

/** A Fastify parser of JSON bodies; see `decodeJson`. Routes that take no body may be sent an empty one. */
export function createJsonParser(maxDepth: number): FastifyBodyParser<Buffer> {
  return function parseJson(request, body, done) {
    if (body.length === 0 && request.routeOptions.schema?.body === undefined) return done(null, undefined)
    let value: unknown
    try {
      value = decodeJson(body, maxDepth)
    } catch (err) {
      return done(err as Error)
    }
    return done(null, value)
  }
}

/**
 * Decodes JSON in UTF-8 that is harmless to whatever handles it later: nested at most `maxDepth` levels, no key that reaches
 * a prototype, and no half of a surrogate pair, which no encoding of text could carry.
 * @throws HTTP_ERR_BAD_JSON
 */
export function decodeJson(bytes: Buffer, maxDepth: number): unknown {
  if (bytes.length === 0) throw new HTTP_ERR_BAD_JSON('the body is empty')
  if (!isUtf8(bytes)) throw new HTTP_ERR_BAD_JSON('it is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    throw new HTTP_ERR_BAD_JSON('it cannot be parsed')
  }
  const fault = findJsonFault(value, maxDepth)
  if (fault !== undefined) throw new HTTP_ERR_BAD_JSON(fault)
  return value
}
