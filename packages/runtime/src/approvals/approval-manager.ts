import { RUN_ERR_APPROVAL_DENIED } from '@svc/registry'
import type { RunEvents } from '../events/run-events.ts'
import type { Tool, ToolContext } from '../tools/define-tool.ts'
import { needsApproval, type ApprovalPolicy } from './approval-policy.ts'

/**
 * Waits for the approval of a call when it needs one; gives the arguments to call with, which the answerer may have
 * edited. The engine writes the parts and the state of the run.
 * @throws RUN_ERR_APPROVAL_DENIED when it is denied, not answered in time, or cannot be decided
 */
export async function approve(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  policy: ApprovalPolicy,
  events: RunEvents
): Promise<unknown> {
  if (!(await isNeeded(tool, args, context, policy))) return args
  const { toolCallId } = context
  const toolName = tool.name
  events.emit('tool.approval.request', () => ({ toolCallId, toolName, args }))
  const outcome = await context.context.approvals.request({ toolCallId, toolName, args })
  const { approved, reason, expired = false } = outcome
  events.emit('tool.approval.response', () => ({
    toolCallId,
    toolName,
    approved,
    expired,
    ...(reason !== undefined && { reason })
  }))
  if (approved) return outcome.args === undefined ? args : outcome.args
  const what = expired ? 'The approval was not answered in time' : 'The call was denied'
  throw new RUN_ERR_APPROVAL_DENIED(reason === undefined || expired ? what : `${what}: ${reason}`)
}

async function isNeeded(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  policy: ApprovalPolicy
): Promise<boolean> {
  try {
    return await needsApproval(tool, policy, args, context)
  } catch (err) {
    context.log.error({ err, toolName: tool.name }, 'whether a call needs an approval could not be decided')
    throw new RUN_ERR_APPROVAL_DENIED('Whether the call needs an approval could not be decided')
  }
}
