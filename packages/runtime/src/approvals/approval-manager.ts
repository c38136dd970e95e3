import { isDeepStrictEqual } from 'node:util'
import {
  isPromise,
  toLoggable,
  type ApprovalOutcome,
  type ApprovalRequest,
  type Awaitable,
  type RunContext
} from '@svc/contract'
import { RUN_ERR_APPROVAL_DENIED } from '@svc/contract/errors'
import type { RunEvents } from '../events/events.ts'
import type { Tool, ToolContext } from '../tools/define-tool.ts'

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

function isNote(answer: unknown): answer is ApprovalNote {
  return typeof (answer as Partial<ApprovalNote> | null | undefined)?.about === 'string'
}

/** How the tool calls of an agent are approved. */
export interface ApprovalRules {
  readonly approval: ApprovalPolicy
  /** Milliseconds, for tools without an `approvalTimeout` of their own; default: the engine's. */
  readonly approvalTimeout?: number | undefined
  readonly events: RunEvents
  /** Withdraws the request when it aborts. */
  readonly signal?: AbortSignal
}

/** How one call waits for its approval. */
export interface ApprovalWait {
  /** Of the run. */
  readonly context: RunContext
  /** As in `ApprovalRequest`. */
  readonly durable: boolean
  /** Settles like `wait()`, which waits for a human. */
  readonly rest: <T>(wait: () => Promise<T>) => Promise<T>
}

/** The arguments that a call was approved with. */
export interface ApprovedArgs {
  readonly args: unknown
  /** True if the approver changed them. */
  readonly edited: boolean
  /** True if the call needed an approval. */
  readonly asked: boolean
}

/**
 * Waits for the approval of a call if it needs one. The arguments are copied first, so the call runs with exactly what was
 * approved. The engine writes the parts and the state of the run.
 * @throws RUN_ERR_APPROVAL_DENIED when the request is denied or expires, or when the policy throws
 */
export async function approve(
  tool: Tool,
  given: GivenArgs,
  context: ToolContext,
  rules: ApprovalRules & ApprovalWait
): Promise<ApprovedArgs> {
  const { args } = given
  const { approval, events, signal, durable, rest } = rules
  const deciding = requiresApproval(tool, given, context, approval)
  const required = isPromise(deciding) ? await deciding : deciding
  if (required === false) return { args, edited: false, asked: false }
  const bound = structuredClone(args)
  const shown = required === true ? bound : { ...(bound as object), about: required.about }
  const { toolCallId } = context
  const { name: toolName, approvalTimeout: timeout = rules.approvalTimeout } = tool
  const asker = signal ? rules.context.child(toolCallId, { signal, unsourced: true }) : rules.context
  const request = {
    toolCallId,
    toolName,
    args: structuredClone(shown),
    ...(durable && { durable }),
    ...(timeout !== undefined && { timeout })
  }
  const outcome = await rest(() => askApproval(asker, request, events))
  const { approved, reason, expired = false } = outcome
  // The approver saw, and may send back, the arguments with the caller's keys redacted.
  const edited = outcome.args !== undefined && !isDeepStrictEqual(outcome.args, context.context.redact(shown))
  if (approved) {
    const taken = edited ? withoutNote(structuredClone(outcome.args!), required) : bound
    return { args: taken, edited, asked: true }
  }
  const what = expired ? 'The approval request expired' : 'The call was denied'
  throw new RUN_ERR_APPROVAL_DENIED(reason === undefined || expired ? what : `${what}: ${reason}`)
}

// True or a note unless the tool or the policy returns exactly `false`. A fixed answer takes no turn of the event loop, so that the
// request comes before the results of the other calls of its step.
function requiresApproval(
  tool: Tool,
  { args, value }: GivenArgs,
  context: ToolContext,
  policy: ApprovalPolicy
): Awaitable<boolean | ApprovalNote> {
  const { approval } = tool
  if (typeof approval === 'boolean') return approval
  if (approval !== undefined) return decide(tool, context, () => approval(value as never, context))
  if (typeof policy === 'function') return decide(tool, context, () => policy(tool, args, context))
  return policy === 'always'
}

async function decide(
  tool: Tool,
  context: ToolContext,
  decision: () => unknown
): Promise<boolean | ApprovalNote> {
  try {
    const answer = await decision()
    return isNote(answer) ? { about: answer.about } : answer !== false
  } catch (err) {
    context.log.error({ err: toLoggable(err), toolName: tool.name }, 'approval policy failed')
    throw new RUN_ERR_APPROVAL_DENIED('The approval policy failed')
  }
}

function withoutNote(args: Record<string, unknown>, required: true | ApprovalNote): Record<string, unknown> {
  if (required === true) return args
  const { about: _, ...rest } = args
  return rest
}
