import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LocalCall } from '../access/callers.ts'

/** For replies that only their caller may read. */
const PRIVATE_HEADERS = Object.freeze({
  // Neither a browser nor a proxy keeps them.
  'cache-control': 'no-store',
  // JSON with markup in it runs nothing.
  'x-content-type-options': 'nosniff'
})

/**
 * Marks all replies of a scope as private, refusals included. Routes whose replies are for everyone, or that a client may keep, such as
 * files, set headers of their own.
 */
export function keepPrivate(scope: FastifyInstance): void {
  scope.addHook('onRequest', (_request, reply, done) => {
    reply.headers(PRIVATE_HEADERS)
    done()
  })
}

/** The parts of a request that `isStrayCall` needs. In an app with `trustProxy` no request is one: what arrives comes from the proxy. */
export function localCallOf({ headers, socket, ips }: FastifyRequest): LocalCall {
  const { host, origin } = headers
  return { host, origin, localAddress: ips === undefined ? socket.localAddress : undefined }
}
