const OWN_CODE = /^(?:RUN|REG)_ERR_/

/** What `make` gives. @throws what it throws; an error of this suite says first, in message and stack, whose fault it is */
export function toldOf<T>(whose: string, make: () => T): T {
  try {
    return make()
  } catch (err) {
    if (err instanceof Error && OWN_CODE.test(String((err as { code?: unknown }).code))) {
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
