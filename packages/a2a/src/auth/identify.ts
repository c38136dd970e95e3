import {
  isPromise,
  readCredentials,
  type Authenticate,
  type Awaitable,
  type Credentials,
  type Principal
} from '@svc/registry'
import type { FastifyRequest } from 'fastify'
import { A2A_ERR_BAD_TOKEN, A2A_ERR_NO_TOKEN } from '../errors.ts'

/** @throws A2A_ERR_NO_TOKEN, A2A_ERR_BAD_TOKEN, and errors of 500 and over as they are */
export function identify(authenticate: Authenticate, request: FastifyRequest): Awaitable<Principal> {
  try {
    const found = authenticate(credentialsOf(request))
    return isPromise(found) ? found.then(requireFound).catch(refuse) : requireFound(found)
  } catch (err) {
    return refuse(err)
  }
}

// Agents have no cookies: those of a browser are not looked at, so that no page can use them.
function credentialsOf({ headers: { cookie: _, ...headers } }: FastifyRequest): Credentials {
  return readCredentials(headers)
}

function requireFound(principal: Principal | null): Principal {
  if (principal === null) throw new A2A_ERR_NO_TOKEN()
  return principal
}

// Of bad credentials nothing is told; that something of ours is away is another matter.
function refuse(err: unknown): never {
  const { statusCode } = (err ?? {}) as { statusCode?: unknown }
  if (err instanceof A2A_ERR_NO_TOKEN || (typeof statusCode === 'number' && statusCode >= 500)) throw err
  throw new A2A_ERR_BAD_TOKEN({ cause: err })
}

/** What `WWW-Authenticate` says of an error. RFC 6750, section 3. */
export function toChallenge(code: string): string | undefined {
  if (code === 'A2A_ERR_NO_TOKEN') return 'Bearer'
  if (code === 'A2A_ERR_BAD_TOKEN') return 'Bearer error="invalid_token"'
  if (code === 'A2A_ERR_FORBIDDEN') return 'Bearer error="insufficient_scope"'
  return undefined
}
