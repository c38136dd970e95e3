import { isDeepStrictEqual } from 'node:util'
import { RUN_ERR_APPROVAL_DENIED, toLoggable } from '@svc/registry'
import type { RunEvents } from '../events/run-events.ts'
import type { Tool, ToolContext } from '../tools/define-tool.ts'
import { askApproval } from './ask-approval.ts'
import { needsApproval, type ApprovalPolicy } from './approval-policy.ts'

/** How the calls of an agent are approved. */
export interface ApprovalRules {
  readonly approval: ApprovalPolicy
  /** Milliseconds that a tool without a time of its own waits; default: as the engine does. */
  readonly approvalTimeout?: number | undefined
  readonly events: RunEvents
  /** Nobody is asked any longer once it aborts. */
  readonly signal?: AbortSignal
}

/** What a call may be made with. */
export interface ApprovedArgs {
  readonly args: unknown
  /** Whether the answerer changed them. */
  readonly edited: boolean
}

/**
 * Waits for the approval of a call when it needs one. What is approved is what is called: the arguments are copied, so
 * that nobody who saw them in between can change them. The engine writes the parts and the state of the run.
 * @throws RUN_ERR_APPROVAL_DENIED when it is denied, not answered in time, or cannot be decided
 */
export async function approve(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  rules: ApprovalRules
): Promise<ApprovedArgs> {
  const { approval, events, signal } = rules
  if (!(await isNeeded(tool, args, context, approval))) return { args, edited: false }
  const bound = structuredClone(args)
  const { toolCallId } = context
  const { name: toolName, approvalTimeout: timeout = rules.approvalTimeout } = tool
  const asker = signal ? context.context.child(toolCallId, { signal, unsourced: true }) : context.context
  const request = {
    toolCallId,
    toolName,
    args: structuredClone(bound),
    ...(timeout !== undefined && { timeout })
  }
  const outcome = await askApproval(asker, request, events)
  const { approved, reason, expired = false } = outcome
  // Who answers may give back what they were shown, which is without the caller's keys.
  const edited = outcome.args !== undefined && !isDeepStrictEqual(outcome.args, context.context.redact(bound))
  if (approved) return { args: edited ? structuredClone(outcome.args) : bound, edited }
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
    const why = 'whether a call needs an approval could not be decided'
    context.log.error({ err: toLoggable(err), toolName: tool.name }, why)
    throw new RUN_ERR_APPROVAL_DENIED('Whether the call needs an approval could not be decided')
  }
}
