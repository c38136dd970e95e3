import { ANONYMOUS, type Principal } from '@svc/registry'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set before anything else happens to a request. */
    principal: Principal
  }
}

/** Gives every request of the scope its principal: anonymous, where there is no authentication. */
export function requirePrincipal(scope: Pick<FastifyInstance, 'decorateRequest' | 'addHook'>): void {
  scope.decorateRequest('principal')
  scope.addHook('onRequest', (request, _reply, done) => {
    request.principal = ANONYMOUS
    done()
  })
}
