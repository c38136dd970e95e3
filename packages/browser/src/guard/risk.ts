import { Type } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
import { prefixedError } from '@svc/runtime/loop'
import type { ApprovalPolicy } from '@svc/runtime'
import { RUN_ERR_BAD_BROWSER } from '../errors.ts'
import { browserToolOf } from '../browser-tools.ts'
import type { Args } from '../actions.ts'
import { assess } from './assessment.ts'
import { RISK_KINDS, type RiskKind } from './risk-kinds.ts'

const KindsSchema = Type.Array(Type.Union(RISK_KINDS.map((kind) => Type.Literal(kind))), { minItems: 1 })

/**
 * An approval policy for browser tools: their calls wait if they are of these kinds, by the facts of the page. The request says under
 * `about` what will happen.
 * @param others the policy for all other tools; default `never`
 * @throws RUN_ERR_BAD_BROWSER
 */
export function risky(kinds: readonly RiskKind[], others: ApprovalPolicy = 'never'): ApprovalPolicy {
  requireOptions(KindsSchema, kinds, prefixedError('risky', RUN_ERR_BAD_BROWSER))
  return async (tool, args, call) => {
    const found = browserToolOf(tool)
    if (found === undefined)
      return typeof others === 'function' ? others(tool, args, call) : others === 'always'
    const { action, visits } = found
    if (action === undefined) return false
    const visit = visits.of(call)
    const assessment = await visit.exclusive(() => assess(action, args as Args, visit, call))
    const asked = assessment.kinds.filter((kind) => kinds.includes(kind))
    visit.assessed.set(call.toolCallId, { ...assessment, kinds: asked, watched: kinds })
    return asked.length === 0 ? false : { about: `${assessment.about} (${asked.join(', ')})` }
  }
}
