import { Type } from '@sinclair/typebox'
import { decodeJson, findEncodingFault } from '@svc/surface'
import type { FastifyBodyParser, FastifyInstance } from 'fastify'
import { HTTP_ERR_BAD_JSON, HTTP_ERR_UNSUPPORTED_ENCODING } from '../errors.ts'

const NO_QUERY = Type.Object({}, { additionalProperties: false })
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Refuses unknown queries, except on open routes, and bodies that are compressed or not UTF-8. */
export function requireStrict(scope: Pick<FastifyInstance, 'addHook'>): void {
  scope.addHook('onRoute', (route) => {
    if (route.config?.access !== 'open' && route.schema?.hide !== true)
      route.schema = { querystring: NO_QUERY, ...route.schema }
  })

  scope.addHook('onRequest', (request, reply, done) => {
    const fault = WITHOUT_BODY.has(request.method) ? undefined : findEncodingFault(request.headers)
    if (fault === undefined) return done()
    reply.header('accept-encoding', 'identity')
    done(new HTTP_ERR_UNSUPPORTED_ENCODING(fault))
  })
}

/** Creates a Fastify parser of JSON bodies by `decodeJson`; a route without a body schema accepts an empty one. */
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
