import type { GivenAnswer } from '@svc/surface'
import type { MessageChunks } from '../projection/message-chunks.ts'
import type { UiMessage, UiPart } from '../wire/messages.ts'

/** What of a message a run waits for. */
type Waiting = Pick<MessageChunks, 'asked' | 'run'>

/**
 * The answers in the parts of a message of the assistant: to approvals (`addToolApprovalResponse`), and by the output of tools to calls of the
 * client's tools and to questions (`addToolOutput`). An output that is an error declines. Parts about what the run does not wait for are
 * left out.
 */
export function readAnswers({ parts }: Pick<UiMessage, 'parts'>, waiting: Waiting): GivenAnswer[] {
  const { asked } = waiting
  return parts.filter(isTool).flatMap((part) => {
    const { state, approval, toolCallId } = part
    if (state === 'approval-responded') return toApproval(approval, waiting)
    const inputId = asked.get(String(toolCallId))
    if (inputId === undefined) return []
    if (state === 'output-error') return [{ inputId, answer: { action: 'decline' as const } }]
    if (state !== 'output-available') return []
    const { output } = part
    return [
      { inputId, answer: { action: 'accept' as const, ...(output !== undefined && { content: output }) } }
    ]
  })
}

function toApproval(approval: unknown, waiting: Waiting): GivenAnswer[] {
  const { id, approved, reason } = (approval ?? {}) as { id?: unknown; approved?: unknown; reason?: unknown }
  if (typeof id !== 'string' || !waiting.run.pending.has(id)) return []
  // The engine checks their types.
  const answer = { approved, ...(reason !== undefined && { reason }) } as {
    approved: boolean
    reason?: string
  }
  return [{ inputId: id, answer }]
}

function isTool({ type }: UiPart): boolean {
  return type.startsWith('tool-') || type === 'dynamic-tool'
}
