import { ANONYMOUS, isPromise, type Authenticate, type Awaitable, type Principal } from '@svc/contract'
import { identify, isStrayCall, localCallOf, readCredentials, type Policy } from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { A2A_ERR_BAD_TOKEN, A2A_ERR_FORBIDDEN, A2A_ERR_NO_TOKEN } from '../errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, on the routes of A2A. */
    a2aPrincipal: Principal
  }
}

/** Authenticates the requests of a scope, before their bodies are read. */
export function authenticateRequests(
  scope: FastifyInstance,
  { authenticate, hosts }: Pick<Policy, 'authenticate' | 'hosts'>
): void {
  if (authenticate === undefined) {
    scope.decorateRequest('a2aPrincipal', { getter: () => ANONYMOUS })
    scope.addHook('onRequest', (request, _reply, done) => {
      const isStray = isStrayCall(localCallOf(request), hosts)
      done(isStray ? new A2A_ERR_FORBIDDEN(' from this origin, or under this host') : undefined)
    })
    return
  }
  scope.decorateRequest('a2aPrincipal')
  scope.addHook('onRequest', (request, _reply, done) => {
    try {
      const found = identifyCaller(authenticate, withoutCookie(request.headers))
      if (isPromise(found)) found.then(pass, refuse)
      else pass(found)
    } catch (err) {
      refuse(err)
    }

    function pass(principal: Principal): void {
      request.a2aPrincipal = principal
      done()
    }

    function refuse(err: unknown): void {
      done(err as Error)
    }
  })
}

const CREDENTIAL_ERRORS = { NoToken: A2A_ERR_NO_TOKEN, InvalidToken: A2A_ERR_BAD_TOKEN }

/** Identifies who sends these headers. @throws A2A_ERR_NO_TOKEN, A2A_ERR_BAD_TOKEN, and errors of 500 and over unchanged */
export function identifyCaller(
  authenticate: Authenticate,
  headers: FastifyRequest['headers']
): Awaitable<Principal> {
  return identify(authenticate, readCredentials(headers), CREDENTIAL_ERRORS)
}

// Agents send no cookies; those of a browser are ignored, so that no page can use them.
function withoutCookie({ cookie: _, ...headers }: FastifyRequest['headers']): FastifyRequest['headers'] {
  return headers
}
