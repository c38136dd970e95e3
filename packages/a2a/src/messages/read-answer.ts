import type { ApprovalAnswer } from '@svc/registry'
import { requireApprovalAnswer } from '@svc/registry/kit'
import type { MessagePart } from '../model/message.ts'
import { badParams } from '../wire/decode-params.ts'

/** An answer and its approval, which a bare word does not name. */
export type TaskAnswer = ApprovalAnswer & { approvalId?: string }

const FIELDS = new Set(['approvalId', 'approved', 'reason', 'args'])

/**
 * Reads a message as an answer: a single part, either the text `approve` or `deny`, or data of the form
 * `{ approvalId, approved, reason?, args? }`. In doubt a message is no answer.
 * @throws A2A_ERR_BAD_PARAMS, RUN_ERR_BAD_INPUT if data of this form has an invalid value
 */
export function readAnswer(parts: readonly MessagePart[]): TaskAnswer | undefined {
  const [part, another] = parts
  if (part === undefined || another !== undefined || isQualified(part)) return undefined
  if ('text' in part) return fromText(part.text)
  return 'data' in part ? fromData(part.data) : undefined
}

// A thought, a quotation or a file's content is not a statement of its sender.
function isQualified({ metadata = {}, filename, mediaType, ...content }: MessagePart): boolean {
  const type = 'text' in content ? 'text/plain' : 'application/json'
  return filename !== undefined || (mediaType ?? type) !== type || Object.keys(metadata).length > 0
}

function fromText(text: string): TaskAnswer | undefined {
  return text === 'approve' || text === 'deny' ? { approved: text === 'approve' } : undefined
}

function fromData(data: unknown): TaskAnswer | undefined {
  if (typeof data !== 'object' || data === null || Object.keys(data).some((name) => !FIELDS.has(name)))
    return undefined
  const { approvalId, approved, reason, args } = data as Record<string, unknown>
  if (approvalId === undefined || typeof approved !== 'boolean') return undefined
  if (typeof approvalId !== 'string') throw badParams('message.parts', 'Expected string as approvalId')
  return { approvalId, ...requireApprovalAnswer({ approved, reason, args }) }
}
