import { isLocalName, isLoopback } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MCP_ERR_CROSS_ORIGIN } from '../errors.ts'

/** The schema of a route that no document describes; the type of the field is that of @fastify/swagger. */
export const HIDDEN: object = { hide: true }

/** Headers of replies that pages of other origins may read. */
const EXPOSED_HEADERS = 'mcp-session-id, www-authenticate, retry-after'
/** Seconds for which a browser keeps the answer to a preflight. */
const MAX_AGE = 600

/**
 * Checks the `Origin` that browsers send with the requests of a scope: it must be a given one, or that of the service. A service on this
 * machine only must also be called by a name of this machine, else any page could reach it by a name of its own (DNS rebinding). Pages of
 * the given origins may read the replies (CORS).
 */
export function guardOrigins(
  scope: FastifyInstance,
  origins: readonly string[],
  hosts: readonly string[]
): void {
  scope.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin !== undefined && origins.includes(origin)) allowOrigin(reply, origin)
    else if (!isOwnOrigin(request, hosts)) return done(new MCP_ERR_CROSS_ORIGIN())
    done()
  })
}

/** Lets the pages of an origin, or of all, read a reply. */
export function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.header('access-control-allow-origin', origin)
  reply.header('access-control-expose-headers', EXPOSED_HEADERS)
  if (origin !== '*') reply.header('vary', 'origin')
}

/** Answers the preflights of a path: its methods, and all the headers that a page asks for, since clients have headers of their own. */
export function answerPreflights(
  scope: FastifyInstance,
  path: string,
  methods: string,
  onRequest: (request: FastifyRequest, reply: FastifyReply) => void = () => {}
): void {
  const answer = (request: FastifyRequest, reply: FastifyReply) => {
    onRequest(request, reply)
    const asked = request.headers['access-control-request-headers']
    if (asked !== undefined) reply.header('access-control-allow-headers', asked)
    return reply
      .code(204)
      .headers({ allow: methods, 'access-control-allow-methods': methods, 'access-control-max-age': MAX_AGE })
      .send()
  }
  for (const place of placesOf(scope, path)) scope.options(place, { schema: HIDDEN }, answer)
}

/** A path without and with a slash at its end, which people paste into their clients; one, if the app takes them as the same. */
export function placesOf({ initialConfig }: FastifyInstance, path: string): string[] {
  const { routerOptions, ignoreTrailingSlash } = initialConfig
  return (routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash) ? [path] : [path, `${path}/`]
}

function isOwnOrigin({ headers, host, protocol, socket }: FastifyRequest, hosts: readonly string[]): boolean {
  if (headers.origin === undefined) return true
  const from = URL.parse(headers.origin)
  const here = URL.parse(`${protocol}://${host}`)
  if (from === null || here === null || from.host !== here.host) return false
  return !isLoopback(socket.localAddress) || isLocalName(from.hostname) || hosts.includes(from.hostname)
}
