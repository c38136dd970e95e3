import {
  grantsScope,
  reachesOwner,
  RUN_ERR_APPROVAL_NOT_FOUND,
  type Principal,
  type StoredRun
} from '@svc/registry'
import type { Surface } from '../surface.ts'

/** Whether the caller sees approvals of everyone: those of runnables that it may run. */
export function seesAllApprovals({ scopes }: Principal): boolean {
  return grantsScope(scopes, 'approvals:answer')
}

/** Whether the caller may see and answer the approvals of a run. */
export async function mayAnswer(
  { exposed, policy }: Surface,
  { kind, name, owner }: StoredRun,
  principal: Principal
): Promise<boolean> {
  if (!exposed.get(kind, name)) return false
  if (!reachesOwner(principal, owner) && !seesAllApprovals(principal)) return false
  return (await policy.authorize(principal, 'answer', { kind, name, owner })).allowed
}

/** Makes sure that there is such an approval, and that the caller may answer it. @throws RUN_ERR_APPROVAL_NOT_FOUND */
export async function requireApproval(
  surface: Surface,
  approvalId: string,
  principal: Principal
): Promise<void> {
  const found = await surface.runs.findApproval(approvalId)
  if (found === undefined || !(await mayAnswer(surface, found.run, principal)))
    throw new RUN_ERR_APPROVAL_NOT_FOUND(approvalId)
}
