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
  if (typeof approval === 'function') return (await approval(args as never, context)) !== false
  if (approval !== undefined) return approval
  if (typeof policy === 'function') return (await policy(tool, args, context)) !== false
  return policy === 'always'
}
