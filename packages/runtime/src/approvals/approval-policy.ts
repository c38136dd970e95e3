import type { Awaitable } from '@svc/contract'
import type { Tool, ToolContext } from '../tools/define-tool.ts'

/** Text for the approver, shown as `about` among the arguments of the request. */
export interface ApprovalNote {
  readonly about: string
}

/** Which tool calls of an agent wait for an approval; a tool's own `approval` takes precedence. */
export type ApprovalPolicy =
  | 'always'
  | 'never'
  | ((tool: Tool, args: unknown, context: ToolContext) => Awaitable<boolean | ApprovalNote>)

/** The arguments of a call. */
export interface GivenArgs {
  readonly args: unknown
  /** The same after the transforms of the tool's schema. */
  readonly value: unknown
}

/** True if no call of the tool needs an approval, whatever its arguments are. */
export function needsNone({ approval }: Tool, policy: ApprovalPolicy): boolean {
  return approval === false || (approval === undefined && policy === 'never')
}

/** True or a note unless the tool or the policy returns exactly `false`. @throws the error of either function */
export async function needsApproval(
  tool: Tool,
  policy: ApprovalPolicy,
  { args, value }: GivenArgs,
  context: ToolContext
): Promise<boolean | ApprovalNote> {
  const { approval } = tool
  if (typeof approval === 'boolean') return approval
  let answer: unknown
  if (approval !== undefined) answer = await approval(value as never, context)
  else if (typeof policy === 'function') answer = await policy(tool, args, context)
  else answer = policy === 'always'
  return isNote(answer) ? { about: answer.about } : answer !== false
}

function isNote(answer: unknown): answer is ApprovalNote {
  return typeof (answer as Partial<ApprovalNote> | null | undefined)?.about === 'string'
}
