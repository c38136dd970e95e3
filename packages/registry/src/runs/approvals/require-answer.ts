import { ApprovalAnswerSchema, type ApprovalAnswer } from '../../contract/run-record.ts'
import { RUN_ERR_BAD_INPUT } from '../../errors.ts'

const MAX_REASON = ApprovalAnswerSchema.properties.reason.maxLength!

/**
 * Validates an answer and returns a copy for the store, without undefined fields.
 * @throws RUN_ERR_BAD_INPUT if `approved` is not a boolean, `reason` not a text of at most 4,096 characters, or `args` are given
 * and are not a JSON object; null is refused too, since it could be read as "unchanged"
 */
export function requireAnswer(given: Partial<Record<keyof ApprovalAnswer, unknown>>): ApprovalAnswer {
  const { approved, reason, args } = given ?? {}
  // The requester may test for truthiness only, and the string "false" is truthy.
  if (typeof approved !== 'boolean') throw new RUN_ERR_BAD_INPUT('approved must be true or false')
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON))
    throw new RUN_ERR_BAD_INPUT(`reason must be a text of at most ${MAX_REASON} characters`)
  return {
    approved,
    ...(reason !== undefined && { reason }),
    ...(args !== undefined && { args: copyOf(args) })
  }
}

function copyOf(args: unknown): Record<string, unknown> {
  const copy = jsonOf(args)
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw new RUN_ERR_BAD_INPUT('args must be an object')
  return copy as Record<string, unknown>
}

function jsonOf(args: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(args)) as unknown
  } catch {
    throw new RUN_ERR_BAD_INPUT('args must be JSON')
  }
}
