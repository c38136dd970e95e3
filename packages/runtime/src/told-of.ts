import { isTellable } from '@svc/registry'

/** What `make` gives. @throws what it throws; one that clients may see says first, in message and stack, whose fault it is */
export function toldOf<T>(whose: string, make: () => T): T {
  try {
    return make()
  } catch (err) {
    if (isTellable(err)) {
      const { message, stack } = err
      err.message = `${whose}: ${message}`
      if (stack !== undefined) err.stack = stack.replace(message, () => err.message)
    }
    throw err
  }
}

/** What is made, by the name that it is to have: `agent "writer"`. */
export function nameOf(kind: string, options: unknown): string {
  const { name } = (options ?? {}) as { name?: unknown }
  if (typeof name === 'string') return `${kind} ${JSON.stringify(name.slice(0, 128))}`
  return kind === 'agent' ? 'an agent' : `a ${kind}`
}
