import { isExposed, type Awaitable, type ErrorClass } from '@svc/contract'

/** Calls `make`. @throws its error, with `subject` before the message and in the stack if clients may see it */
export function prefixErrors<T>(subject: string, make: () => T): T {
  try {
    return make()
  } catch (err) {
    if (isExposed(err)) prefix(subject, err)
    throw err
  }
}

const BAD_OPTIONS = new Set([
  'RUN_ERR_BAD_AGENT',
  'RUN_ERR_BAD_MODEL',
  'RUN_ERR_BAD_SANDBOX',
  'RUN_ERR_BAD_SKILL',
  'RUN_ERR_BAD_TOOL'
])

/** `prefixErrors` for functions of the app during a run: of their errors, only those of bad options get the prefix. */
export async function prefixBadOptions<T>(subject: string, make: () => Awaitable<T>): Promise<T> {
  try {
    return await make()
  } catch (err) {
    if (isExposed(err) && BAD_OPTIONS.has(err.code) && !err.message.startsWith(subject)) prefix(subject, err)
    throw err
  }
}

function prefix(subject: string, err: Error): void {
  const { message, stack } = err
  err.message = `${subject}: ${message}`
  if (stack !== undefined) err.stack = stack.replace(message, () => err.message)
}

/** The subject of an error text, by the name in the options: `agent "writer"`. */
export function nameOf(kind: string, options: unknown): string {
  const { name } = (options ?? {}) as { name?: unknown }
  if (typeof name === 'string') return `${kind} ${JSON.stringify(name.slice(0, 128))}`
  return kind === 'agent' ? 'an agent' : `a ${kind}`
}

type BadOption = new (fault: string) => Error

/** A subclass of an error that puts `where` before its fault. */
export function prefixedError(where: string, Base: ErrorClass<[string]>): BadOption {
  return class extends Base {
    constructor(fault: string) {
      super(`${where}: ${fault}`)
    }
  }
}

/** True if a value has all these methods, own or inherited. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every(
    (name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
  )
}
