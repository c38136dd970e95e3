import type { AccessDecision } from '@svc/registry'
import { A2A_ERR_FORBIDDEN } from '../errors.ts'

/** @throws A2A_ERR_FORBIDDEN */
export function requireAllowed(decision: AccessDecision): void {
  if (decision.allowed) return
  const { missing } = decision
  throw Object.assign(
    new A2A_ERR_FORBIDDEN(missing === undefined ? '' : `: the scope ${missing} is missing`),
    {
      scope: missing
    }
  )
}
