import { requireAnswer, type ApprovalAnswer } from '@svc/registry'
import type { MessagePart } from '../model/part.ts'
import { badParams } from '../wire/decode-params.ts'

/** An answer, and which approval it is for; the one that waits where it does not say. */
export type TaskAnswer = ApprovalAnswer & { approvalId?: string }

/**
 * The answer that a message gives: a data part with `approved`, or a text that is exactly `approve` or `deny`.
 * @throws RUN_ERR_BAD_INPUT when it has `args` that are no object, A2A_ERR_BAD_PARAMS when its `approvalId` is no text: it
 * must not answer another one
 */
export function readAnswer(parts: readonly MessagePart[]): TaskAnswer | undefined {
  for (const part of parts) {
    const answer = 'data' in part ? fromData(part.data) : 'text' in part ? fromText(part.text) : undefined
    if (answer !== undefined) return answer
  }
  return undefined
}

function fromText(text: string): TaskAnswer | undefined {
  const word = text.trim().toLowerCase()
  return word === 'approve' || word === 'deny' ? { approved: word === 'approve' } : undefined
}

function fromData(data: unknown): TaskAnswer | undefined {
  const { approvalId, approved, reason, args } = (data ?? {}) as Record<string, unknown>
  if (typeof approved !== 'boolean') return undefined
  const answer = requireAnswer({
    approved,
    reason: typeof reason === 'string' ? reason.slice(0, 4096) : undefined,
    args
  })
  if (approvalId === undefined || approvalId === null) return answer
  if (typeof approvalId !== 'string') throw badParams('message.parts', 'Expected string as approvalId')
  return { ...answer, approvalId }
}
