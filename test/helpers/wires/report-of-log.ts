import type { NumberedPart, Part, ToolError } from '@svc/registry'
import { RunResultBuilder } from '@svc/contract'
import type { Report, ReportedCall } from './wire.ts'

/** Reports a run by its log, which has ended; void attempts do not count. */
export function reportOfLog(parts: Iterable<Part | NumberedPart>): Report {
  const builder = new RunResultBuilder()
  const asked = new Set<string>()
  let end: Part | undefined
  for (const part of parts) {
    builder.add(part)
    if (part.type === 'tool.approval.request') asked.add(approvalLine(part.approvalId, part.toolName))
    if (part.type === 'input.request' && part.kind !== 'tool')
      asked.add(questionLine(part.kind, part.message))
    if ((part.type === 'finish' || part.type === 'error') && !part.source?.length) end = part
  }
  if (end === undefined) throw new Error('the log has no end')
  const { text, structured, usage, finishReason, toolCalls } = builder.build()
  const calls = toolCalls.map(({ toolName, args, result, error }): ReportedCall => ({
    tool: toolName,
    args,
    outcome: error !== undefined ? outcomeOfError(error) : result === undefined ? undefined : { result }
  }))
  const common = { text, calls, asked: [...asked].toSorted() }
  if (end.type === 'error')
    return {
      status: 'failed',
      code: (end as { error: ToolError }).error.code,
      ...common,
      finishReason: undefined,
      structured: undefined,
      usage: undefined
    }
  const status = finishReason === 'canceled' ? 'canceled' : 'completed'
  return { status, code: undefined, finishReason, ...common, structured, usage }
}

/** An approval that a run waited for, as reports have it. */
export function approvalLine(approvalId: string, toolName: string): string {
  return `approval ${approvalId} of ${toolName}`
}

/** A question, or a request for credentials, that a run waited for, as reports have it. */
export function questionLine(kind: string, message: string | undefined): string {
  return `${kind} "${message}"`
}

/** The outcome of a call that failed, or that its approval has denied. */
export function outcomeOfError({ code, message }: ToolError): ReportedCall['outcome'] {
  return code === 'RUN_ERR_APPROVAL_DENIED' ? 'denied' : { error: message }
}
