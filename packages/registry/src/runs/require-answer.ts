import type { ApprovalAnswer } from '../contract/run-record.ts'
import { RUN_ERR_BAD_INPUT } from '../errors.ts'

/** An answer whose `args` may be anything. */
export interface GivenAnswer {
  approved: boolean
  reason?: string | undefined
  args?: unknown
}

/**
 * An answer as a store keeps it: its own copy, without what is left out.
 * @throws RUN_ERR_BAD_INPUT when `args` are given and are no object of JSON: null too, lest it is read as "as they are"
 */
export function requireAnswer({ approved, reason, args }: GivenAnswer): ApprovalAnswer {
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
