import {
  grantsScope,
  reachesOwner,
  RUN_ERR_APPROVAL_NOT_FOUND,
  RUN_ERR_INPUT_NOT_FOUND,
  type FoundInput,
  type InputKind,
  type InputRun,
  type Principal
} from '@svc/contract'
import type { RunAccess } from './require-run.ts'

/** The kinds of each list of inputs. */
export const LISTED_KINDS = {
  approvals: ['approval'],
  inputs: ['question', 'tool', 'auth']
} as const satisfies Record<string, readonly InputKind[]>

/** A list of inputs: `/approvals` and `/inputs`. */
export type InputList = keyof typeof LISTED_KINDS

/** True if the caller sees inputs of all owners in a list: every approval, or every question. */
export function seesAllOf(list: InputList, { scopes }: Principal): boolean {
  return grantsScope(scopes, `${list}:answer`)
}

/** True if the caller may see and answer inputs of a kind of a run: client tools and credentials are up to its owner. */
export async function mayAnswer(
  { exposed, policy }: Pick<RunAccess, 'exposed' | 'policy'>,
  run: InputRun,
  inputKind: InputKind,
  principal: Principal
): Promise<boolean> {
  const { kind, name, owner } = run
  if (!exposed.shows(run)) return false
  const isForAll =
    (inputKind === 'approval' && seesAllOf('approvals', principal)) ||
    (inputKind === 'question' && seesAllOf('inputs', principal))
  if (!isForAll && !reachesOwner(principal, owner)) return false
  return (await policy.authorize(principal, 'answer', { kind, name, owner })).allowed
}

/**
 * Finds an input of a list that the caller may answer; any other counts as missing.
 * @throws RUN_ERR_APPROVAL_NOT_FOUND, RUN_ERR_INPUT_NOT_FOUND
 */
export async function requireAnswerable(
  access: RunAccess,
  list: InputList,
  inputId: string,
  principal: Principal
): Promise<FoundInput> {
  const found = await access.runs.findInput(inputId)
  const kinds: readonly InputKind[] = LISTED_KINDS[list]
  if (
    found !== undefined &&
    kinds.includes(found.input.kind) &&
    (await mayAnswer(access, found.run, found.input.kind, principal))
  )
    return found
  throw list === 'approvals' ? new RUN_ERR_APPROVAL_NOT_FOUND(inputId) : new RUN_ERR_INPUT_NOT_FOUND(inputId)
}
