import {
  ANONYMOUS,
  findMissingScope,
  isPromise,
  type Action,
  type Awaitable,
  type Principal,
  type RunnableKind
} from '@svc/contract'
import {
  completeHook,
  isStrayCall,
  localCallOf,
  missingScope,
  requireAllowed,
  type HookAct
} from '@svc/surface'
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import type { HttpPolicy } from './policy.ts'
import { HTTP_ERR_BAD_OPTION, HTTP_ERR_CROSS_ORIGIN } from '../errors.ts'
import { errors } from '../surface-errors.ts'

type Scope = Pick<FastifyInstance, 'decorateRequest' | 'addHook'>

/**
 * Guards every route added to the scope from now on, by the declared rule of the matched route and the decoded name, never
 * by the text of the URL. A route without a rule is an error at start.
 */
export function requireAccess(scope: Scope, policy: HttpPolicy): void {
  scope.decorateRequest('principal')

  scope.addHook('onRoute', function declare(route) {
    const { method, url, routePath, config } = route
    const access: AccessRule | undefined = config?.access ?? this.access
    if (access === undefined)
      throw new HTTP_ERR_BAD_OPTION(`the route ${String(method)} ${url} has no access rule`)
    // HEAD requests follow the rule of GET.
    const verb = String(method) === 'HEAD' ? 'GET' : String(method)
    route.config = { ...config, access, accessKey: `${verb} ${routePath}` }
  })

  const act: HookAct = (request) => guard(request, policy)
  scope.addHook('onRequest', (request, reply, done) => completeHook(act, request, reply, done))
}

function guard(request: FastifyRequest, policy: HttpPolicy): Awaitable<void> {
  request.principal = ANONYMOUS
  // Fastify makes the options of a route anew on each access.
  const { config } = request.routeOptions
  // A path without a route has no rule; its 404 needs no credentials.
  if ((config.access ?? 'open') === 'open') return
  if (policy.identify === undefined) {
    refuseStray(request, policy)
    return admit(request, config, ANONYMOUS, policy)
  }
  const caller = policy.identify(request)
  return isPromise(caller)
    ? caller.then((found) => admit(request, config, found, policy))
    : admit(request, config, caller, policy)
}

// Pages that CORS admits may call from elsewhere.
function refuseStray(request: FastifyRequest, { hosts, hasCors }: HttpPolicy): void {
  const call = localCallOf(request)
  if (isStrayCall(hasCors ? { ...call, origin: undefined } : call, hosts)) throw new HTTP_ERR_CROSS_ORIGIN()
}

function admit(
  request: FastifyRequest,
  { access, accessKey = '' }: FastifyContextConfig,
  principal: Principal,
  policy: HttpPolicy
): Awaitable<void> {
  request.principal = principal
  const wanted = policy.routes.get(accessKey)
  const missing = wanted && findMissingScope(principal.scopes, wanted)
  if (missing !== undefined) throw missingScope(errors, missing)

  const { name } = request.params as { name?: string }
  if (typeof access !== 'object' || name === undefined) return
  const { action, kind } = access
  return requireAllowed({ policy, errors }, principal, action, { kind, name })
}

/**
 * Who may call a route: everyone (`open`); callers with valid credentials (`authenticated`; the handler checks ownership);
 * or callers who may perform the action on the runnables of a kind, or on the one that `:name` names.
 */
export type AccessRule = 'open' | 'authenticated' | { readonly action: Action; readonly kind: RunnableKind }

declare module 'fastify' {
  interface FastifyInstance {
    /** Default rule of a scope, for routes that declare none, such as those of a third-party plugin. */
    access?: AccessRule
  }
  interface FastifyContextConfig {
    /** Required on every route of the plugin. */
    access?: AccessRule
    /** The key of the route in `defaultScopes`. */
    accessKey?: string
  }
}
