import type { ApprovalAnswer } from '../contract/run-record.ts'
import { RUN_ERR_BAD_INPUT } from '../errors.ts'

/** An answer as a store keeps it: its own copy, without what is left out. @throws RUN_ERR_BAD_INPUT when its `args` have no JSON */
export function requireAnswer({ approved, reason, args }: ApprovalAnswer): ApprovalAnswer {
  return {
    approved,
    ...(reason !== undefined && { reason }),
    ...(args !== undefined && { args: copyOf(args) })
  }
}

function copyOf(args: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(args)) as unknown
  } catch {
    throw new RUN_ERR_BAD_INPUT('args must be JSON')
  }
}
