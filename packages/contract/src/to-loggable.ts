import { isNativeError } from 'node:util/types'

// Cause chains may be cyclic.
const MAX_DEPTH = 8
const MAX_TEXT = 16_384

/**
 * Converts an error for a log: its type, stack (which begins with its message) and causes. Other properties are omitted: they may
 * contain headers or the body of a failed call. There is no `message`, so that pino does not treat the object as an error.
 */
export function toLoggable(err: unknown): object {
  return describe(err, MAX_DEPTH)
}

function describe(err: unknown, depth: number): object {
  try {
    if (!(isNativeError(err) || err instanceof Error))
      return { type: typeof err, ...(typeof err === 'string' && { stack: textOf(err) }) }
    const { name, stack, cause } = err
    return {
      type: textOf(name),
      stack: textOf(stack),
      ...(cause !== undefined && depth > 1 && { cause: describe(cause, depth - 1) })
    }
  } catch {
    return { type: 'unreadable' }
  }
}

// Libraries may replace these properties with arbitrary objects.
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined
}
