import type { Awaitable } from '@svc/registry'
import type { Tool, ToolContext } from '../tools/define-tool.ts'

/** Which tool calls of an agent wait for an approval; a tool's own `approval` goes before it. */
export type ApprovalPolicy =
  | 'always'
  | 'never'
  | ((tool: Tool, args: unknown, context: ToolContext) => Awaitable<boolean>)

/** Whether a call waits for an approval: only a plain `false` says no. @throws what the functions throw */
export async function needsApproval(
  tool: Tool,
  policy: ApprovalPolicy,
  args: unknown,
  context: ToolContext
): Promise<boolean> {
  const { approval } = tool
  if (typeof approval === 'boolean') return approval
  let answer: unknown
  if (approval !== undefined) answer = await approval(args as never, context)
  else if (typeof policy === 'function') answer = await policy(tool, args, context)
  else answer = policy === 'always'
  return answer !== false
}
