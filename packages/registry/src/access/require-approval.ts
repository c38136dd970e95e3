import type { Principal } from '../contract/principal.ts'
import { grantsScope, reachesOwner } from '../contract/scopes.ts'
import { RUN_ERR_APPROVAL_NOT_FOUND } from '../errors.ts'
import type { FoundApproval, RunSummary } from '../contract/ports/run-store.ts'
import type { RunAccess } from './require-run.ts'

/** True if the caller sees the approvals of all owners. */
export function seesAllApprovals({ scopes }: Principal): boolean {
  return grantsScope(scopes, 'approvals:answer')
}

/** True if the caller may see and answer the approvals of a run. */
export async function mayAnswer(
  { exposed, policy }: Pick<RunAccess, 'exposed' | 'policy'>,
  run: FoundApproval['run'] | RunSummary,
  principal: Principal
): Promise<boolean> {
  const { kind, name, owner } = run
  if (!exposed.shows(run)) return false
  if (!reachesOwner(principal, owner) && !seesAllApprovals(principal)) return false
  return (await policy.authorize(principal, 'answer', { kind, name, owner })).allowed
}

/** Finds an approval that the caller may answer. @throws RUN_ERR_APPROVAL_NOT_FOUND */
export async function requireApproval(
  access: RunAccess,
  approvalId: string,
  principal: Principal
): Promise<FoundApproval> {
  const found = await access.runs.findApproval(approvalId)
  if (found === undefined || !(await mayAnswer(access, found.run, principal)))
    throw new RUN_ERR_APPROVAL_NOT_FOUND(approvalId)
  return found
}
