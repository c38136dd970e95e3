import {
  identify,
  readCredentials,
  type Authenticate,
  type Awaitable,
  type Credentials,
  type Principal
} from '@svc/registry'
import type { FastifyRequest } from 'fastify'
import { A2A_ERR_BAD_TOKEN, A2A_ERR_NO_TOKEN } from '../errors.ts'

const CREDENTIAL_ERRORS = { NoToken: A2A_ERR_NO_TOKEN, InvalidToken: A2A_ERR_BAD_TOKEN }

/** Who sent a request. @throws A2A_ERR_NO_TOKEN, A2A_ERR_BAD_TOKEN, and errors of 500 and over as they are */
export function identifyRequest(authenticate: Authenticate, request: FastifyRequest): Awaitable<Principal> {
  return identify(authenticate, credentialsOf(request), CREDENTIAL_ERRORS)
}

// Agents have no cookies: those of a browser are not looked at, so that no page can use them.
function credentialsOf({ headers: { cookie: _, ...headers } }: FastifyRequest): Credentials {
  return readCredentials(headers)
}
