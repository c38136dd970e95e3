import {
  isAdmin,
  identify,
  readCredentials,
  resolveAuthorize,
  type Authenticate,
  type Authorize,
  type Awaitable,
  type Principal
} from '@svc/registry'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { HTTP_ERR_BAD_OPTION, HTTP_ERR_INVALID_TOKEN, HTTP_ERR_NO_TOKEN } from '../errors.ts'
import type { HttpOptions } from '../options.ts'
import { checkOrigin } from './check-origin.ts'
import { createJwtAuthenticate } from './jwt-authenticate.ts'
import { ROUTE_SCOPES, resolveRbacOptions, type RbacRules } from './rbac-options.ts'
import { createScopeAuthorize } from './scope-authorize.ts'

/** Who calls, and what they may do: one for all routes of the plugin. */
export interface Policy {
  /** Undefined where there are no credentials to ask for. */
  readonly identify: ((request: FastifyRequest) => Awaitable<Principal>) | undefined
  readonly authorize: Authorize
  /** Whether the app says what callers may do, by `rbac` or `authorize`. */
  readonly isOwn: boolean
  /** The scopes that each route needs: without `rbac` only those for administration. */
  readonly routes: RbacRules['routes']
  /** How a document describes the credentials. */
  readonly schemes: NonNullable<Authenticate['schemes']>
  /** Whether a caller may name this user. */
  allowsUser(principal: Principal, userId: string): boolean
}

const CREDENTIAL_ERRORS = { NoToken: HTTP_ERR_NO_TOKEN, InvalidToken: HTTP_ERR_INVALID_TOKEN }

const ADMIN_SCOPES: RbacRules['routes'] = new Map(
  Object.entries(ROUTE_SCOPES).filter(([route]) => route.includes(' /admin/'))
)

type PolicyOptions = Pick<HttpOptions, 'jwt' | 'rbac' | 'authenticate' | 'authorize'>

/** Makes the policy that the options ask for. @throws HTTP_ERR_BAD_OPTION, HTTP_ERR_JWT_NOT_INSTALLED */
export async function createPolicy(
  { jwt, rbac, authenticate, authorize }: PolicyOptions,
  log: FastifyBaseLogger
): Promise<Policy> {
  if (jwt && authenticate) throw new HTTP_ERR_BAD_OPTION('authenticate: not together with jwt')
  if (rbac && authorize) throw new HTTP_ERR_BAD_OPTION('authorize: not together with rbac')
  if (rbac && !jwt && !authenticate)
    throw new HTTP_ERR_BAD_OPTION('rbac: it needs jwt or authenticate, to know who calls')

  const rules = rbac && resolveRbacOptions(rbac)
  const check = jwt ? await createJwtAuthenticate(jwt, { log, ...rules }) : authenticate
  return {
    identify: check && createIdentify(check, jwt ?? {}),
    authorize: resolveAuthorize(authorize ?? createScopeAuthorize(rbac)),
    isOwn: authorize !== undefined || rbac !== undefined,
    routes: rules?.routes ?? ADMIN_SCOPES,
    schemes: check?.schemes ?? {},
    allowsUser: ({ sub, scopes }, userId) => check === undefined || userId === sub || isAdmin(scopes)
  }
}

function createIdentify(authenticate: Authenticate, place: NonNullable<HttpOptions['jwt']>) {
  const usesCookies = place.extractFrom === 'cookie'

  return (request: FastifyRequest): Awaitable<Principal> => {
    const credentials = readCredentials(request.headers, place)
    const hasHeader = request.headers.authorization !== undefined
    if (usesCookies || (!hasHeader && request.headers.cookie !== undefined)) checkOrigin(request)
    return identify(authenticate, credentials, CREDENTIAL_ERRORS)
  }
}
