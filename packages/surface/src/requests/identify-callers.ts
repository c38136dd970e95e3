import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  identify,
  isForeignOrigin,
  isStrayCall,
  localCallOf,
  readCredentials,
  toCredentials,
  type CredentialErrors
} from '../access/callers.ts'
import type { Policy } from '@svc/registry/engine'
import { ANONYMOUS, isPromise, type Awaitable, type Credentials, type Principal } from '@svc/contract'
import { completeHook } from './guard-scope.ts'

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
  /** A header, in lower case, in which clients of the wire send their token where they have no `Authorization`. */
  readonly tokenHeader?: string | undefined
}

/**
 * Identifies the caller of each request of a scope, as `request.caller`, before its body is read. A request with
 * cookies must come from the origin of the service, unless it changes nothing; one without authentication on loopback from this machine.
 */
export function identifyCallers(
  scope: FastifyInstance,
  { authenticate, hosts, ignoresCookies = false, tokenHeader }: CallerRules,
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
  scope.addHook('onRequest', (request, reply, done) => completeHook(identifyOne, request, reply, done))

  function identifyOne(request: FastifyRequest): Awaitable<unknown> {
    const { headers: sent, host, method } = request
    const headers = ignoresCookies ? withoutCookie(sent) : sent
    if (!SAFE_METHODS.has(method) && isForeignOrigin(headers, host)) throw new errors.CrossOrigin()
    const found = identify(authenticate!, credentialsIn(headers, tokenHeader), errors)
    if (isPromise(found)) return found.then((caller) => (request.caller = caller))
    return (request.caller = found)
  }
}

function credentialsIn(headers: FastifyRequest['headers'], tokenHeader = ''): Credentials {
  const token = headers.authorization === undefined ? headers[tokenHeader] : undefined
  return typeof token === 'string' && token !== '' ? toCredentials(headers, token) : readCredentials(headers)
}

function withoutCookie({ cookie: _, ...headers }: FastifyRequest['headers']): FastifyRequest['headers'] {
  return headers
}
