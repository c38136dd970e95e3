import {
  findMissingScope,
  grantsScope,
  reachesOwner,
  type AccessTarget,
  type Action,
  type Authorize,
  type Principal,
  type RunnableKind
} from '@svc/contract'
import { resolveRbacOptions, type RbacOptions, type RbacRules } from './rbac-options.ts'

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
