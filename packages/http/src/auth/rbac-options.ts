import { Type, type Static } from '@sinclair/typebox'
import { requireOptions, RUNNABLE_KINDS, type RunnableKind } from '@svc/registry'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

/** The scopes that each route needs; none: any valid token. HEAD is guarded as GET. */
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
  'POST /runs/:runId/cancel': [],
  'GET /approvals': [],
  'GET /approvals/:approvalId': [],
  'POST /approvals/:approvalId': [],
  'GET /admin/runs': ['admin:*'],
  'DELETE /admin/runs': ['admin:*'],
  'DELETE /admin/agents/:name': ['admin:*'],
  'DELETE /admin/teams/:name': ['admin:*'],
  'DELETE /admin/workflows/:name': ['admin:*']
})

const scopes = Type.Array(Type.String({ pattern: String.raw`^\S+$` }))
const byName = (kind: RunnableKind) =>
  Type.Optional(
    Type.Record(Type.String(), scopes, {
      description: `Name of a ${kind} → scopes that it needs on top of the route's`
    })
  )

/** Options of access by scopes. */
export const RbacOptionsSchema = Type.Object(
  {
    scopeField: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The claim that has the scopes, a list or a space-separated string; default `scopes`'
      })
    ),
    defaultScopes: Type.Optional(
      Type.Record(Type.String(), scopes, {
        description:
          'Route, like `POST /agents/:name/run`, → all the scopes that it needs, over the built-in map. ' +
          'What is said of `…/run` holds for `…/stream`, of `GET /agents` for `GET /agents/:name`, and of ' +
          '`/admin/*`, `GET /admin/*` or `GET, POST, DELETE /admin/*` for all of these, unless they are named themselves'
      })
    ),
    agentScopes: byName('agent'),
    teamScopes: byName('team'),
    workflowScopes: byName('workflow')
  },
  { additionalProperties: false, description: 'Access by the scopes of a token' }
)
export type RbacOptions = Static<typeof RbacOptionsSchema>

type ScopeMap = ReadonlyMap<string, readonly string[]>

/** What access by scopes asks for. */
export interface RbacRules {
  readonly scopeField: string
  /** The scopes of each route of ROUTE_SCOPES, under the same keys. */
  readonly routes: ScopeMap
  /** The scopes of single runnables, by name. */
  readonly named: Readonly<Record<RunnableKind, ScopeMap>>
}

/** Makes sure that options are known and good, and lays them over the built-in map. @throws HTTP_ERR_BAD_OPTION */
export function resolveRbacOptions(options: RbacOptions = {}): RbacRules {
  requireOptions(RbacOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  const { scopeField = 'scopes', defaultScopes, agentScopes, teamScopes, workflowScopes } = options
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

  // The fewer routes a key names, the more it counts.
  for (const { members, wanted } of groups.toSorted((a, b) => b.members.length - a.members.length))
    for (const route of members) routes.set(route, wanted)
  // Who guards a run guards its twin too: it must not become a way around.
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

/** The routes of `/admin/*`, of all methods or of those that stand before it. */
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
