/**
 * An error for a log: its type, stack (which begins with its text) and causes, not its other properties, which may hold the
 * headers or the body of a call that failed. There is no `message`, lest pino takes this for an error itself.
 */
export function toLoggable(err: unknown): object {
  if (!(err instanceof Error)) return { type: typeof err, ...(typeof err === 'string' && { stack: err }) }
  const { name, stack, cause } = err
  return { type: name, stack, ...(cause !== undefined && { cause: toLoggable(cause) }) }
}
