import { Type, type Static } from '@sinclair/typebox'
import type { InputOutcome } from './input.ts'

/** A pending approval; large arguments are cut to a preview. */
export const PendingApprovalSchema = Type.Object(
  {
    approvalId: Type.String(),
    runId: Type.String(),
    toolCallId: Type.String(),
    toolName: Type.String(),
    args: Type.Optional(Type.Unknown({ description: 'Omitted if their JSON exceeds 4 KiB' })),
    argsPreview: Type.Optional(Type.String({ description: 'The beginning of the JSON of larger ones' })),
    argsBytes: Type.Integer({ description: 'Size of their JSON in bytes' }),
    expiresAt: Type.String({ format: 'date-time' }),
    source: Type.Optional(Type.Array(Type.String()))
  },
  { title: 'PendingApproval' }
)
export type PendingApproval = Static<typeof PendingApprovalSchema>

/** An answer to an approval: approve, deny with a reason, or approve with edited arguments. */
export const ApprovalAnswerSchema = Type.Object(
  {
    approved: Type.Boolean(),
    reason: Type.Optional(Type.String({ maxLength: 4096 })),
    args: Type.Optional(
      Type.Unsafe<Record<string, unknown>>(
        // Else clients made from the document could give none.
        Type.Object(
          {},
          { additionalProperties: true, description: 'The edited arguments, complete; default: unchanged' }
        )
      )
    )
  },
  { title: 'ApprovalAnswer', additionalProperties: false }
)
export type ApprovalAnswer = Static<typeof ApprovalAnswerSchema>

/** What an approval is asked for. */
export interface ApprovalRequest {
  toolCallId: string
  toolName: string
  args: unknown
  /** Milliseconds until the approval counts as denied; default 300,000, at most 2,147,483,647. */
  timeout?: number
  /**
   * True if a resumed run requests the same approval again. While a resumable run waits for nothing else and runs no step, it may
   * leave memory until the answer resumes it. Default false.
   */
  durable?: boolean
}

/** The outcome of an approval; `expired` if no answer came in time. */
export interface ApprovalOutcome extends ApprovalAnswer {
  expired?: boolean
}

/** Requests approvals; the engine records the request, the answer and the state of the run. */
export interface Approvals {
  /** Resolves with the answer. @throws the reason of the run's signal if the run ends first */
  request(request: ApprovalRequest): Promise<ApprovalOutcome>
}

/** The outcome of an input that is an approval. */
export function toApprovalOutcome({ action, content, reason, expired }: InputOutcome): ApprovalOutcome {
  return {
    approved: action === 'accept',
    ...(reason !== undefined && { reason }),
    ...(content !== undefined && { args: content as Record<string, unknown> }),
    ...(expired && { expired })
  }
}

/** The answer to an approval as that of an input. */
export function fromApprovalAnswer({ approved, reason, args }: ApprovalAnswer): InputOutcome {
  return {
    action: approved ? 'accept' : 'decline',
    ...(args !== undefined && { content: args }),
    ...(reason !== undefined && { reason })
  }
}
