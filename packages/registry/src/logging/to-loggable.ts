import { isNativeError } from 'node:util/types'

// Causes of causes: an error may even be its own.
const MAX_DEPTH = 8
const MAX_TEXT = 16_384

/**
 * An error for a log: its type, stack (which begins with its message) and causes. Its other properties are left out: they may
 * hold the headers or the body of a call that failed. There is no `message`, lest pino takes this for an error itself.
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

// A library may put an object there, with anything in it.
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined
}
