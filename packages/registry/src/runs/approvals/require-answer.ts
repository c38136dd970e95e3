import { ApprovalAnswerSchema, type ApprovalAnswer } from '../../contract/run-record.ts'
import { RUN_ERR_BAD_INPUT } from '../../errors.ts'

const MAX_REASON = ApprovalAnswerSchema.properties.reason.maxLength!

/**
 * An answer as a store keeps it: its own copy, without what is left out.
 * @throws RUN_ERR_BAD_INPUT when `approved` is no boolean, `reason` no text of at most 4,096 characters, or `args` are given
 * and are no object of JSON: null too, lest it is read as "as they are"
 */
export function requireAnswer(given: Partial<Record<keyof ApprovalAnswer, unknown>>): ApprovalAnswer {
  const { approved, reason, args } = given ?? {}
  // Whoever asks may only look whether it is truthy: the text "false" is.
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
