import type { Awaitable } from '@svc/registry'
import type { Tool, ToolContext } from '../tools/define-tool.ts'

/** Which tool calls of an agent wait for an approval; a tool's own `approval` takes precedence. */
export type ApprovalPolicy =
  | 'always'
  | 'never'
  | ((tool: Tool, args: unknown, context: ToolContext) => Awaitable<boolean>)

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

/** True unless the tool or the policy returns exactly `false`. @throws the error of either function */
export async function needsApproval(
  tool: Tool,
  policy: ApprovalPolicy,
  { args, value }: GivenArgs,
  context: ToolContext
): Promise<boolean> {
  const { approval } = tool
  if (typeof approval === 'boolean') return approval
  let answer: unknown
  if (approval !== undefined) answer = await approval(value as never, context)
  else if (typeof policy === 'function') answer = await policy(tool, args, context)
  else answer = policy === 'always'
  return answer !== false
}
