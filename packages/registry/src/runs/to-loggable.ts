// Causes of causes: an error may even be its own.
const MAX_DEPTH = 8

/**
 * An error for a log: its type, stack (which begins with its text) and causes, not its other properties, which may hold the
 * headers or the body of a call that failed. There is no `message`, lest pino takes this for an error itself.
 */
export function toLoggable(err: unknown): object {
  return describe(err, MAX_DEPTH)
}

function describe(err: unknown, depth: number): object {
  try {
    if (!(err instanceof Error)) return { type: typeof err, ...(typeof err === 'string' && { stack: err }) }
    const { name, stack, cause } = err
    return {
      type: name,
      stack,
      ...(cause !== undefined && depth > 1 && { cause: describe(cause, depth - 1) })
    }
  } catch {
    return { type: 'unreadable' }
  }
}
