import {
  findMissingScope,
  grantsScope,
  reachesOwner,
  type AccessTarget,
  type Action,
  type Authorize,
  type Principal,
  type RunnableKind
} from '@svc/registry'
import { resolveRbacOptions, type RbacOptions, type RbacRules } from './rbac-options.ts'

/**
 * The policy by scopes. `run` and `answer` need the scopes of the kind's run route, `read` those of its `GET …/:name`,
 * `admin` those of its `DELETE /admin/…`; a runnable's own scopes come on top. Without `rbac` every action but `admin`
 * needs no scope: `admin` needs `admin:*` always.
 *
 * What belongs to another owner is refused without a scope to ask for: it is to look like something that does not
 * exist. `*` and `admin:*` reach every owner's, and `approvals:answer` every owner's approvals.
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

function reaches(principal: Principal, action: Action, { owner }: AccessTarget): boolean {
  if (action === 'admin' || owner === undefined || reachesOwner(principal, owner)) return true
  return action === 'answer' && grantsScope(principal.scopes, 'approvals:answer')
}

function scopesOf({ routes, named }: RbacRules, action: Action, { kind, name }: AccessTarget): string[] {
  return [...(routes.get(routeOf(action, kind)) ?? ['admin:*']), ...(named[kind].get(name) ?? [])]
}

function routeOf(action: Action, kind: RunnableKind): string {
  if (action === 'admin') return `DELETE /admin/${kind}s/:name`
  return action === 'read' ? `GET /${kind}s/:name` : `POST /${kind}s/:name/run`
}
