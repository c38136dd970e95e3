import { isNativeError } from 'node:util/types'
import { createError as createFastifyError } from '@fastify/error'

/** An error that clients see unchanged: its code, message and status. */
export interface ExposedError extends Error {
  readonly code: string
  /** Default 500. */
  readonly statusCode?: number
  /** True if the same call may succeed later; default: derived from the status. */
  readonly retryable?: boolean
  /** Seconds to wait before the next attempt. */
  readonly retryAfter?: number
}

/** A class of errors from a catalogue. */
export interface ErrorClass<Args extends unknown[] = [ErrorOptions?]> {
  new (...args: Args): ExposedError & { readonly statusCode: number }
  readonly prototype: ExposedError
}

// A symbol, so that nothing parsed from JSON can carry it; the same in every installed copy of this package.
const EXPOSED = Symbol.for('@svc/registry/error')
const CODES = Symbol.for('@svc/registry/error-codes')

// Of the catalogues of all packages, whichever copy of this one they were made with.
const codes = ((globalThis as { [CODES]?: Set<string> })[CODES] ??= new Set())

/**
 * Creates a class of errors for a catalogue; clients see its errors unchanged.
 * @param message with one `%s` or `%d` per constructor argument
 */
export function createError<Args extends unknown[] = [ErrorOptions?]>(
  code: string,
  message: string,
  statusCode: number
): ErrorClass<Args> {
  codes.add(code)
  const Class = createFastifyError(code, message, statusCode)
  markExposed(Class.prototype)
  return Class as unknown as ErrorClass<Args>
}

/** Marks an error, or the prototype of an error class, as visible to clients. */
export function markExposed(error: object): void {
  // Not enumerable, so that copies of the error do not inherit it by accident.
  Object.defineProperty(error, EXPOSED, { value: true })
}

/** True if clients see a thrown value unchanged. */
export function isExposed(thrown: unknown): thrown is ExposedError {
  try {
    const { [EXPOSED]: mark, code, message } = (thrown ?? {}) as Record<PropertyKey, unknown>
    return mark === true && typeof code === 'string' && typeof message === 'string'
  } catch {
    // A getter or a Proxy that throws.
    return false
  }
}

/** The code of an error that clients see; else undefined. */
export function codeOf(thrown: unknown): string | undefined {
  return isExposed(thrown) ? thrown.code : undefined
}

/** True if a catalogue has the code: an error that has it without the mark is a forgery. */
export function isCatalogued(code: string): boolean {
  return codes.has(code)
}

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
