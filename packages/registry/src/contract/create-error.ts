import { createError as createFastifyError } from '@fastify/error'

/** An error that clients see as it is: its code, its message and its status. */
export interface TellableError extends Error {
  readonly code: string
  /** Default 500. */
  readonly statusCode?: number
  /** Whether the same call may succeed later; default: what the status says. */
  readonly retryable?: boolean
  /** Seconds after which to try again. */
  readonly retryAfter?: number
}

/** A class of errors of a catalogue. */
export interface ErrorClass<Args extends unknown[] = [ErrorOptions?]> {
  new (...args: Args): TellableError & { readonly statusCode: number }
  readonly prototype: TellableError
}

// No string, so that nothing that is read from JSON has it; the same in every installed copy of this package.
const TELLABLE = Symbol.for('@svc/registry/error')

/**
 * Makes a class of errors of a catalogue; clients see them as they are.
 * @param message has a `%s` or `%d` for each argument of the constructor
 */
export function createError<Args extends unknown[] = [ErrorOptions?]>(
  code: string,
  message: string,
  statusCode: number
): ErrorClass<Args> {
  const Class = createFastifyError(code, message, statusCode)
  markTellable(Class.prototype)
  return Class as unknown as ErrorClass<Args>
}

/** Marks an error, or the prototype of a class of errors, as one that clients see. */
export function markTellable(error: object): void {
  // Not enumerable: no copy of the error has it by accident.
  Object.defineProperty(error, TELLABLE, { value: true })
}

/** Whether clients see an error as it is; whatever was thrown may be anything. */
export function isTellable(thrown: unknown): thrown is TellableError {
  try {
    const { [TELLABLE]: mark, code, message } = (thrown ?? {}) as Record<PropertyKey, unknown>
    return mark === true && typeof code === 'string' && typeof message === 'string'
  } catch {
    // A getter or a Proxy that throws.
    return false
  }
}

/** The code of an error that clients see; undefined for any other. */
export function codeOf(thrown: unknown): string | undefined {
  return isTellable(thrown) ? thrown.code : undefined
}
