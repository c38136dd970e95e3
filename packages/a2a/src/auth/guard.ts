import { ANONYMOUS, isPromise, type Authenticate, type Principal } from '@svc/registry'
import type { FastifyInstance } from 'fastify'
import { identifyRequest } from './identify-request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, on the routes of A2A. */
    a2aPrincipal: Principal
  }
}

/** Finds out who calls each route of the scope, before the body is read. */
export function guard(scope: FastifyInstance, authenticate: Authenticate | undefined): void {
  if (authenticate === undefined) {
    scope.decorateRequest('a2aPrincipal', { getter: () => ANONYMOUS })
    return
  }
  scope.decorateRequest('a2aPrincipal')
  scope.addHook('onRequest', (request, _reply, done) => {
    try {
      const found = identifyRequest(authenticate, request)
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
