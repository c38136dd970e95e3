import { isTellable, type ErrorClass } from '@svc/registry'

/** What `make` gives. @throws what it throws; one that clients may see says first, in message and stack, whose fault it is */
export function prefixErrors<T>(whose: string, make: () => T): T {
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

type BadOption = new (fault: string) => Error

/** The same error, of which the message says before the fault where it is. */
export function prefixedError(where: string, Base: ErrorClass<[string]>): BadOption {
  return class extends Base {
    constructor(fault: string) {
      super(`${where}: ${fault}`)
    }
  }
}

/** Whether a value has all these methods, its own or of its class. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every(
    (name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
  )
}
