import type { AccessDecision, Authorize } from '../contract/principal.ts'
import { isAdmin } from '../contract/scopes.ts'
import { isPromise } from '../contract/ports/awaitable.ts'

/**
 * The policy of an entrance. Only `allowed: true` allows: neither a text nor a number, which a policy in JavaScript may give.
 * Where none is given, everyone may do everything but `admin`, which needs the scope `admin:*`.
 */
export function resolveAuthorize(authorize: Authorize = allowAllButAdmin): Authorize {
  return (...asked) => {
    const decision = authorize(...asked)
    return isPromise(decision) ? decision.then(requireDecision) : requireDecision(decision)
  }
}

const allowAllButAdmin: Authorize = ({ scopes }, action) => ({
  allowed: action !== 'admin' || isAdmin(scopes)
})

function requireDecision(decision: AccessDecision | null | undefined): AccessDecision {
  const { allowed, missing } = (decision ?? {}) as { allowed?: unknown; missing?: unknown }
  if (allowed === true) return { allowed }
  return { allowed: false, ...(typeof missing === 'string' && { missing }) }
}
