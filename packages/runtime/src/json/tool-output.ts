import { RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE } from '../errors.ts'
import { isDeeperThan, MAX_DEPTH } from './json-faults.ts'
import { toJson } from './to-json.ts'

/**
 * What a tool returned as plain JSON data, cut off from the tool's own objects; undefined is null.
 * @throws RUN_ERR_TOOL_BAD_OUTPUT for what has no JSON: a cycle, a BigInt, a function, a Map or Set, a getter that throws
 * @throws RUN_ERR_TOOL_OUTPUT_TOO_LARGE when its JSON has more bytes than allowed
 */
export function toToolOutput(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null) return null
  const text = typeof value === 'string' ? value : toJson(value, toFault)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(bytes, maxBytes)
  if (typeof value === 'string') return value
  const output: unknown = JSON.parse(text)
  if (isDeeperThan(output, MAX_DEPTH))
    throw new RUN_ERR_TOOL_BAD_OUTPUT(`it is nested deeper than ${MAX_DEPTH}`)
  return output
}

function toFault(fault: string, cause?: unknown): Error {
  return new RUN_ERR_TOOL_BAD_OUTPUT(messageOf(cause, fault))
}

const MAX_MESSAGE = 1_000

/** The message of whatever was thrown, at most 1,000 characters; it may be anything, also something that throws itself. */
export function messageOf(thrown: unknown, otherwise: string): string {
  try {
    const message =
      typeof thrown === 'string' ? thrown : (thrown as { message?: unknown } | null | undefined)?.message
    if (typeof message === 'string' && message !== '') return message.slice(0, MAX_MESSAGE).toWellFormed()
  } catch {
    // A getter or a Proxy that throws has no message.
  }
  return otherwise
}
