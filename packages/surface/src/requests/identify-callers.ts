import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  identify,
  isForeignOrigin,
  isStrayCall,
  localCallOf,
  readCredentials,
  type CredentialErrors
} from '../access/callers.ts'
import type { Policy } from '@svc/registry/engine'
import { ANONYMOUS, isPromise, type Awaitable, type Principal } from '@svc/contract'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, on routes of scopes with `identifyCallers`. */
    caller: Principal
  }
}

/** The errors with which a surface refuses callers. */
export interface CallerErrors extends CredentialErrors {
  /** A page of another site sent the request, with cookies: 403. */
  readonly CrossOrigin: new () => Error
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** What of a request identifies its caller. */
export interface CallerRules extends Pick<Policy, 'authenticate' | 'hosts'> {
  /** True if the clients of the wire send no cookies: those of a browser are ignored, so that no page can use them. */
  readonly ignoresCookies?: boolean
}

/**
 * Identifies the caller of each request of a scope, as `request.caller`, before its body is read. A request with
 * cookies must come from the origin of the service, unless it changes nothing; one without authentication on loopback from this machine.
 */
export function identifyCallers(
  scope: FastifyInstance,
  { authenticate, hosts, ignoresCookies = false }: CallerRules,
  errors: CallerErrors
): void {
  if (authenticate === undefined) {
    scope.decorateRequest('caller', { getter: () => ANONYMOUS })
    scope.addHook('onRequest', (request, _reply, done) => {
      done(isStrayCall(localCallOf(request), hosts) ? new errors.CrossOrigin() : undefined)
    })
    return
  }
  scope.decorateRequest('caller')
  scope.addHook('onRequest', (request, _reply, done) => {
    try {
      const found = identifyOne(request)
      if (isPromise(found)) found.then(pass, refuse)
      else pass(found)
    } catch (err) {
      refuse(err)
    }

    function pass(principal: Principal): void {
      request.caller = principal
      done()
    }

    // Fastify takes a falsy value for success.
    function refuse(thrown: unknown): void {
      done(thrown instanceof Error ? thrown : new Error('no error was thrown', { cause: thrown }))
    }
  })

  function identifyOne({ headers: sent, host, method }: FastifyRequest): Awaitable<Principal> {
    const headers = ignoresCookies ? withoutCookie(sent) : sent
    if (!SAFE_METHODS.has(method) && isForeignOrigin(headers, host)) throw new errors.CrossOrigin()
    return identify(authenticate!, readCredentials(headers), errors)
  }
}

function withoutCookie({ cookie: _, ...headers }: FastifyRequest['headers']): FastifyRequest['headers'] {
  return headers
}
