import type { ApprovalOutcome, ApprovalRequest, RunContext } from '@svc/contract'
import type { RunEvents } from '../events/run-events.ts'

/** Requests an approval, and emits the request and the response. @throws the reason why the run ended, if it ended first */
export async function askApproval(
  { approvals }: Pick<RunContext, 'approvals'>,
  request: ApprovalRequest,
  events: RunEvents
): Promise<ApprovalOutcome> {
  const { toolCallId, toolName, args } = request
  events.emit('tool.approval.request', () => ({ toolCallId, toolName, args: structuredClone(args) }))
  const outcome = await approvals.request(request)
  const { approved, expired = false, reason } = outcome
  events.emit('tool.approval.response', () => ({
    toolCallId,
    toolName,
    approved,
    expired,
    ...(reason !== undefined && { reason })
  }))
  return outcome
}
