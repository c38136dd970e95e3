import { decodeJson } from '@svc/registry'
import type { FastifyBodyParser } from 'fastify'
import { HTTP_ERR_BAD_JSON } from '../errors.ts'

/** A Fastify parser of JSON bodies; see `decodeJson`. Routes that take no body may be sent an empty one. */
export function createJsonParser(maxDepth: number): FastifyBodyParser<Buffer> {
  return function parseJson(request, body, done) {
    if (body.length === 0 && request.routeOptions.schema?.body === undefined) return done(null, undefined)
    let value: unknown
    try {
      value = decodeJson(body, maxDepth, HTTP_ERR_BAD_JSON)
    } catch (err) {
      return done(err as Error)
    }
    return done(null, value)
  }
}
