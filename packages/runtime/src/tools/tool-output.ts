import { RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE } from '../errors.ts'
import { isDeeperThan, MAX_DEPTH } from './json-depth.ts'

/**
 * What a tool returned as plain JSON data, cut off from the tool's own objects; undefined is null.
 * @throws RUN_ERR_TOOL_BAD_OUTPUT for what has no JSON: a cycle, a BigInt, a function, a Map or Set, a getter that throws
 * @throws RUN_ERR_TOOL_OUTPUT_TOO_LARGE when its JSON has more bytes than allowed
 */
export function toToolOutput(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null) return null
  const text = typeof value === 'string' ? value : toJson(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(bytes, maxBytes)
  if (typeof value === 'string') return value
  const output: unknown = JSON.parse(text)
  if (isDeeperThan(output, MAX_DEPTH))
    throw new RUN_ERR_TOOL_BAD_OUTPUT(`it is nested deeper than ${MAX_DEPTH}`)
  return output
}

function toJson(value: unknown): string {
  let fault = `it is a ${typeof value}`
  try {
    if (isCollection(value)) fault = 'it is a Map or a Set; return an object or an array'
    else {
      const json = JSON.stringify(value) as string | undefined
      if (json !== undefined) return json
    }
  } catch (err) {
    fault = messageOf(err, 'it cannot be read')
  }
  throw new RUN_ERR_TOOL_BAD_OUTPUT(fault)
}

function isCollection(value: unknown): boolean {
  return value instanceof Map || value instanceof Set
}

/** The code of an error of this package; whatever was thrown may be anything. */
export function ownCodeOf(thrown: unknown): string | undefined {
  try {
    const { code } = (thrown ?? {}) as { code?: unknown }
    return typeof code === 'string' && code.startsWith('RUN_ERR_') ? code : undefined
  } catch {
    return undefined
  }
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
