import { identify, readCredentials, resolvePolicy, type AppPolicy, type Policy } from '@svc/surface'
import type { Authenticate, Awaitable, Principal } from '@svc/contract'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'
import type { HttpOptions } from '../options.ts'
import { checkOrigin } from './check-origin.ts'
import { createJwtAuthenticate } from './jwt-authenticate.ts'
import { createScopeAuthorize, resolveRbacOptions, ROUTE_SCOPES, type RbacRules } from './rbac-options.ts'
import { errors } from '../surface-errors.ts'

/** Who calls, and what they may do; shared by all routes of the plugin. */
export interface HttpPolicy extends Policy {
  /** Undefined if no credentials are asked for. */
  readonly identify: ((request: FastifyRequest) => Awaitable<Principal>) | undefined
  /** True if CORS decides which pages of other origins may call. */
  readonly hasCors: boolean
  /** Required scopes by route; without `rbac` only those of `/admin`. */
  readonly routes: RbacRules['routes']
  /** How an OpenAPI document describes the credentials. */
  readonly schemes: NonNullable<Authenticate['schemes']>
  /** Whether there are `/admin` routes. */
  readonly hasAdmin: boolean
}

const ADMIN_SCOPES: RbacRules['routes'] = new Map(
  Object.entries(ROUTE_SCOPES).filter(([route]) => route.includes(' /admin/'))
)

type OwnOptions = Pick<HttpOptions, 'cors' | 'jwt' | 'rbac' | 'authenticate' | 'authorize' | 'admin'>

/** Resolves the policy of the options and the app. @throws HTTP_ERR_BAD_OPTION, HTTP_ERR_JWT_NOT_INSTALLED */
export async function createPolicy(
  { cors, jwt, rbac, authenticate, authorize, admin }: OwnOptions,
  app: AppPolicy,
  log: FastifyBaseLogger
): Promise<HttpPolicy> {
  if (jwt && authenticate !== undefined) throw new HTTP_ERR_BAD_OPTION('authenticate: not together with jwt')
  if (rbac && authorize !== undefined) throw new HTTP_ERR_BAD_OPTION('authorize: not together with rbac')

  const rules = rbac && resolveRbacOptions(rbac)
  const own = {
    authenticate: jwt ? await createJwtAuthenticate(jwt, { log, ...rules }) : authenticate,
    authorize: rbac ? createScopeAuthorize(rbac) : authorize
  }
  const policy = resolvePolicy(own, app, createScopeAuthorize())
  const { authenticate: check } = policy
  for (const [option, needsCaller] of Object.entries({ rbac: rbac !== undefined, admin: admin === true }))
    if (needsCaller && check === undefined)
      throw new HTTP_ERR_BAD_OPTION(`${option}: it needs jwt or authenticate, to know who calls`)
  return {
    ...policy,
    identify: check && createIdentify(check, jwt ?? {}),
    hasCors: Boolean(cors),
    routes: rules?.routes ?? ADMIN_SCOPES,
    schemes: check?.schemes ?? {},
    hasAdmin: admin ?? check !== undefined
  }
}

function createIdentify(authenticate: Authenticate, place: NonNullable<HttpOptions['jwt']>) {
  return (request: FastifyRequest): Awaitable<Principal> => {
    checkOrigin(request)
    return identify(authenticate, readCredentials(request.headers, place), errors)
  }
}
