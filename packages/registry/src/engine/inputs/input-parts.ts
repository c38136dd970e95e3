import {
  toApprovalOutcome,
  type InputOutcome,
  type Part,
  type PartOf,
  type RequestedInput,
  type StoredInput
} from '@svc/contract'

/** The part that asks for an input. */
export function toRequestPart(input: StoredInput): RequestedInput['request'] {
  const { inputId, kind, message, schema, toolCallId, toolName, args } = input
  const rest = { expiresAt: new Date(input.expiresAt).toISOString(), ...sourceOf(input) }
  if (kind === 'approval')
    return {
      type: 'tool.approval.request',
      approvalId: inputId,
      toolCallId: toolCallId!,
      toolName: toolName!,
      args,
      ...rest
    }
  return {
    type: 'input.request',
    inputId,
    kind,
    ...(message !== undefined && { message }),
    ...(schema !== undefined && { schema }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(toolName !== undefined && { toolName }),
    ...(args !== undefined && { args }),
    ...rest
  }
}

/** The part that answers an input. The content for a client tool is its result and stands in `tool.result` only. */
export function toResponsePart(input: StoredInput, outcome: InputOutcome): Part {
  const { inputId, kind, toolCallId } = input
  const from = sourceOf(input)
  if (kind === 'approval') {
    const { approved, reason, args } = toApprovalOutcome(outcome)
    return {
      type: 'tool.approval.response',
      approvalId: inputId,
      toolCallId: toolCallId!,
      approved,
      ...(reason !== undefined && { reason }),
      ...(args !== undefined && { args }),
      ...from
    }
  }
  const { action, content } = outcome
  const shown = kind === 'question' && content !== undefined ? { content } : {}
  return { type: 'input.response', inputId, action, ...shown, ...from } satisfies PartOf<'input.response'>
}

function sourceOf({ source }: StoredInput): { source?: string[] } {
  return source.length === 0 ? {} : { source: [...source] }
}
