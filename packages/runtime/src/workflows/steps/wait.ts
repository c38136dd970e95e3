import { RUN_ERR_APPROVAL_DENIED, type ApprovalOutcome } from '@svc/contract'
import { askApproval } from '../../approvals/ask-approval.ts'
import { ChildGuard } from '../../guards/child-guard.ts'
import type { FlowNode } from '../flow-node.ts'
import type { Place } from '../place.ts'
import type { ApprovalWaitOptions, SleepOptions } from '../step-options.ts'

type View = Place['view']

/** Waits for some time or for a human; both waits survive a restart. */
export function runWait(
  { name, options }: Extract<FlowNode, { type: 'wait' }>,
  place: Place
): Promise<ApprovalOutcome | undefined> {
  return 'sleep' in options ? sleepFor(name, options, place) : askFor(name, options, place)
}

async function sleepFor(
  name: string,
  { sleep: time }: SleepOptions<unknown, View['steps'], unknown>,
  { context, view, signal }: Place
): Promise<undefined> {
  const end = await context.step(`${name}#end`, async () => {
    const ms = typeof time === 'function' ? await time(view) : time
    return context.now() + (Number.isFinite(ms) ? ms : 0)
  })
  await context.sleep(end, signal)
}

// The stored approval survives a restart: it is found again by its request, even if answered in between.
async function askFor(
  name: string,
  { approval }: ApprovalWaitOptions<unknown, View['steps'], unknown>,
  { context, view, signal, events }: Place
): Promise<ApprovalOutcome> {
  const { toolName = name, timeout, denied = 'fail' } = approval
  const args: unknown = (await context.step(`${name}#args`, async () => approval.args?.(view))) ?? null
  const child = context.child(name, { signal })
  const toolCallId = child.idempotencyKey.slice(child.runId.length + 1)
  const guard = new ChildGuard(signal)
  try {
    const request = { toolCallId, toolName, args, durable: true, ...(timeout !== undefined && { timeout }) }
    const outcome = await guard.wait(askApproval(child, request, events))
    const { approved, expired, reason } = outcome
    if (approved || denied === 'continue') return outcome
    throw new RUN_ERR_APPROVAL_DENIED(
      expired ? `"${name}" was not approved in time` : `"${name}" was denied${reason ? `: ${reason}` : ''}`
    )
  } finally {
    guard.close()
  }
}
