import { isExposed, type ToolError } from '@svc/contract'
import { RUN_ERR_TOOL_FAILED } from '../errors.ts'

const PROGRAM_CODES: ReadonlySet<string> = new Set([
  'RUN_ERR_PROGRAM_FAILED',
  'RUN_ERR_PROGRAM_TIMEOUT',
  'RUN_ERR_PROGRAM_MEMORY',
  'RUN_ERR_SANDBOX_BUSY',
  'RUN_ERR_SANDBOX_CLOSED',
  'RUN_ERR_SANDBOX_FAILED',
  'RUN_ERR_SANDBOX_MISSING',
  'RUN_ERR_TOOL_UNKNOWN',
  'RUN_ERR_TOOL_BAD_ARGS',
  'RUN_ERR_TOOL_FAILED',
  'RUN_ERR_TOOL_TIMEOUT',
  'RUN_ERR_TOOL_BAD_OUTPUT',
  'RUN_ERR_TOOL_OUTPUT_TOO_LARGE'
])

/** True for errors of a program or of a tool that it called: the model can correct these. */
export function isProgramCode(code: string): boolean {
  return PROGRAM_CODES.has(code)
}

/** The error that models and clients see; `otherwise` replaces an error that is not `expose`. */
export function toToolError(
  err: unknown,
  otherwise: ToolError = new RUN_ERR_TOOL_FAILED('The tool call failed')
): ToolError {
  const { code, message } = isExposed(err) ? err : otherwise
  return { code, message: message.toWellFormed() }
}
