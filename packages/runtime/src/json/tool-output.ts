import { RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE } from '../errors.ts'
import { isDeeperThan, MAX_DEPTH } from './json-faults.ts'
import { toJson } from './to-json.ts'
import { parseWellFormed } from './well-formed.ts'

/**
 * Copies a tool's result as plain JSON data, without halves of surrogate pairs; undefined becomes null.
 * @throws RUN_ERR_TOOL_BAD_OUTPUT for a value without JSON: a cycle, a BigInt, a function, a Map or Set, a getter that throws
 * @throws RUN_ERR_TOOL_OUTPUT_TOO_LARGE if its JSON has more than `maxBytes` bytes
 */
export function toToolOutput(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null) return null
  const text = typeof value === 'string' ? value.toWellFormed() : toJson(value, toFault)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(bytes, maxBytes)
  if (typeof value === 'string') return text
  const output = parseWellFormed(text)
  if (isDeeperThan(output, MAX_DEPTH))
    throw new RUN_ERR_TOOL_BAD_OUTPUT(`it is nested deeper than ${MAX_DEPTH}`)
  return output
}

function toFault(fault: string, cause?: unknown): Error {
  return new RUN_ERR_TOOL_BAD_OUTPUT(messageOf(cause, fault))
}

const MAX_MESSAGE = 1_000

/** The message of a thrown value, at most 1,000 characters. Safe for any value, even one whose getters throw. */
export function messageOf(thrown: unknown, otherwise: string): string {
  try {
    const message =
      typeof thrown === 'string' ? thrown : (thrown as { message?: unknown } | null | undefined)?.message
    if (typeof message === 'string' && message !== '') return message.slice(0, MAX_MESSAGE).toWellFormed()
  } catch {
    // A throwing getter or Proxy has no message.
  }
  return otherwise
}
