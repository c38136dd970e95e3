import { Type } from '@sinclair/typebox'
import {
  findMissingScope,
  grantsScope,
  optionsSchema,
  reachesOwner,
  requireOptions,
  RUNNABLE_KINDS,
  type AccessTarget,
  type Action,
  type Authorize,
  type Principal,
  type RunnableKind
} from '@svc/contract'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

/** Required scopes by route; an empty list accepts any valid token. HEAD requests follow the GET entry. */
export const ROUTE_SCOPES: Readonly<Record<string, readonly string[]>> = Object.freeze({
  'POST /agents/:name/run': ['agents:run'],
  'POST /agents/:name/stream': ['agents:run'],
  'GET /agents': ['agents:read'],
  'GET /agents/:name': ['agents:read'],
  'POST /teams/:name/run': ['teams:run'],
  'POST /teams/:name/stream': ['teams:run'],
  'GET /teams': ['teams:read'],
  'GET /teams/:name': ['teams:read'],
  'POST /workflows/:name/run': ['workflows:run'],
  'POST /workflows/:name/stream': ['workflows:run'],
  'GET /workflows': ['workflows:read'],
  'GET /workflows/:name': ['workflows:read'],
  'GET /registry': [],
  'GET /runs': [],
  'GET /runs/:runId': [],
  'GET /runs/:runId/stream': [],
  'GET /runs/:runId/files/:fileId': [],
  'POST /runs/:runId/cancel': [],
  'GET /approvals': [],
  'GET /approvals/:approvalId': [],
  'POST /approvals/:approvalId': [],
  'GET /inputs': [],
  'GET /inputs/:inputId': [],
  'POST /inputs/:inputId': [],
  'GET /sessions': [],
  'GET /sessions/:kind/:name/:sessionId': [],
  'PATCH /sessions/:kind/:name/:sessionId': [],
  'DELETE /sessions/:kind/:name/:sessionId': [],
  'POST /sessions/:kind/:name/:sessionId/fork': [],
  'POST /sessions/:kind/:name/:sessionId/compact': [],
  'GET /sessions/:kind/:name/:sessionId/stream': [],
  'GET /schedules': ['schedules:read'],
  'GET /schedules/:scheduleId': ['schedules:read'],
  'POST /schedules': ['schedules:write'],
  'PATCH /schedules/:scheduleId': ['schedules:write'],
  'DELETE /schedules/:scheduleId': ['schedules:write'],
  'GET /webhooks': ['webhooks:read'],
  'GET /webhooks/deliveries': ['webhooks:read'],
  'GET /webhooks/:webhookId': ['webhooks:read'],
  'POST /webhooks': ['webhooks:write'],
  'POST /webhooks/deliveries/:deliveryId/retry': ['webhooks:write'],
  'PATCH /webhooks/:webhookId': ['webhooks:write'],
  'DELETE /webhooks/:webhookId': ['webhooks:write'],
  'GET /admin/health': ['admin:*'],
  'GET /admin/runs': ['admin:*'],
  'DELETE /admin/runs': ['admin:*'],
  'DELETE /admin/subjects/:sub': ['admin:*'],
  'DELETE /admin/agents/:name': ['admin:*'],
  'DELETE /admin/teams/:name': ['admin:*'],
  'DELETE /admin/workflows/:name': ['admin:*']
})

/** Options of access control by the scopes of a token. */
export interface RbacOptions {
  /** The claim with the scopes, a list or a space-separated string; default `scopes`. */
  scopeField?: string
  /**
   * Route, like `POST /agents/:name/run` → all scopes that it requires, instead of the built-in ones. An entry for `…/run` also
   * covers `…/stream`, `GET /agents` covers `GET /agents/:name`, and `/admin/*`, `GET /admin/*` or `GET, POST, DELETE /admin/*`
   * cover their routes, unless these have entries of their own.
   */
  defaultScopes?: Record<string, string[]>
  /** Name of an agent → scopes required on top of the route's. */
  agentScopes?: Record<string, string[]>
  /** Name of a team → scopes required on top of the route's. */
  teamScopes?: Record<string, string[]>
  /** Name of a workflow → scopes required on top of the route's. */
  workflowScopes?: Record<string, string[]>
}

const scopesByKey = Type.Record(Type.String(), Type.Array(Type.String({ pattern: String.raw`^\S+$` })))

export const RbacOptionsSchema = optionsSchema<RbacOptions>({
  scopeField: Type.String({ minLength: 1 }),
  defaultScopes: scopesByKey,
  agentScopes: scopesByKey,
  teamScopes: scopesByKey,
  workflowScopes: scopesByKey
})

const DEFAULTS = Object.freeze({ scopeField: 'scopes' })

type ScopeMap = ReadonlyMap<string, readonly string[]>

/** The resolved rules of access control by scopes. */
export interface RbacRules {
  readonly scopeField: string
  /** Scopes by route, with the keys of ROUTE_SCOPES. */
  readonly routes: ScopeMap
  /** Additional scopes of single runnables, by name. */
  readonly named: Readonly<Record<RunnableKind, ScopeMap>>
}

/** Validates the options and merges them into the built-in map. @throws HTTP_ERR_BAD_OPTION */
export function resolveRbacOptions(options: RbacOptions = {}): RbacRules {
  requireOptions(RbacOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  // Destructured, not spread: a value may be inherited, and lost scopes would allow more.
  const { scopeField = DEFAULTS.scopeField, defaultScopes, agentScopes, teamScopes, workflowScopes } = options
  return {
    scopeField,
    routes: resolveRoutes(toMap(defaultScopes)),
    named: { agent: toMap(agentScopes), team: toMap(teamScopes), workflow: toMap(workflowScopes) }
  }
}

function resolveRoutes(given: ScopeMap): ScopeMap {
  const routes = new Map(Object.entries(ROUTE_SCOPES))
  const named = [...given].filter(([key]) => routes.has(key))
  const groups = [...given].filter(([key]) => !routes.has(key)).map(toAdminGroup)

  // The more specific group wins.
  for (const { members, wanted } of groups.toSorted((a, b) => b.members.length - a.members.length))
    for (const route of members) routes.set(route, wanted)
  // A guarded run also guards its stream, which must not bypass it.
  for (const kind of RUNNABLE_KINDS) {
    const run = given.get(`POST /${kind}s/:name/run`)
    const list = given.get(`GET /${kind}s`)
    if (run !== undefined) routes.set(`POST /${kind}s/:name/stream`, run)
    if (list !== undefined) routes.set(`GET /${kind}s/:name`, list)
  }
  for (const [route, wanted] of named) routes.set(route, wanted)
  return routes
}

const ADMIN_KEY = /^(?:((?:GET|POST|DELETE)(?:, (?:GET|POST|DELETE))*) )?\/admin\/\*$/

/** Resolves `/admin/*`, with or without a list of methods before it. */
function toAdminGroup([key, wanted]: readonly [key: string, wanted: readonly string[]]) {
  const match = ADMIN_KEY.exec(key)
  if (match === null) throw new HTTP_ERR_BAD_OPTION(`defaultScopes: no route "${key}"`)
  const methods = match[1]?.split(', ')
  const members = Object.keys(ROUTE_SCOPES).filter((route) => {
    const [method = '', path = ''] = route.split(' ')
    return path.startsWith('/admin/') && (methods?.includes(method) ?? true)
  })
  return { members, wanted }
}

function toMap(record: Readonly<Record<string, readonly string[]>> = {}): ScopeMap {
  return new Map(Object.entries(record).map(([key, wanted]) => [key, [...wanted]]))
}

/**
 * Authorizes by scopes. `run` and `answer` require the scopes of the kind's run route, `read` those of its `GET …/:name`,
 * `admin` those of its `DELETE /admin/…`; a runnable's own scopes come on top. Without `rbac` only `admin` requires a
 * scope, `admin:*`.
 *
 * Access to another owner's run is refused without naming a scope, so that it looks like one that does not exist. `*` and
 * `admin:*` reach all owners, `approvals:answer` the approvals of all owners, and `inputs:answer` their questions; the surface
 * has checked which of the two an answer is for.
 * @throws HTTP_ERR_BAD_OPTION
 */
export function createScopeAuthorize(rbac?: RbacOptions): Authorize {
  const rules = resolveRbacOptions(rbac)

  return (principal, action, target) => {
    if (!reaches(principal, action, target)) return { allowed: false }
    if (rbac === undefined && action !== 'admin') return { allowed: true }
    const missing = findMissingScope(principal.scopes, scopesOf(rules, action, target))
    return missing === undefined ? { allowed: true } : { allowed: false, missing }
  }
}

const ANSWERS = ['approvals:answer', 'inputs:answer']

function reaches(principal: Principal, action: Action, { owner }: AccessTarget): boolean {
  if (action === 'admin' || owner === undefined || reachesOwner(principal, owner)) return true
  return action === 'answer' && ANSWERS.some((scope) => grantsScope(principal.scopes, scope))
}

function scopesOf({ routes, named }: RbacRules, action: Action, { kind, name }: AccessTarget): string[] {
  return [...(routes.get(routeOf(action, kind)) ?? ['admin:*']), ...(named[kind].get(name) ?? [])]
}

function routeOf(action: Action, kind: RunnableKind): string {
  if (action === 'admin') return `DELETE /admin/${kind}s/:name`
  return action === 'read' ? `GET /${kind}s/:name` : `POST /${kind}s/:name/run`
}
