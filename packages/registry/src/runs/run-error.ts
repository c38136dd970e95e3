import { isTellable, markTellable, type TellableError } from '../contract/create-error.ts'
import type { PartError } from '../contract/part.ts'
import { RUN_ERR_FAILED } from '../errors.ts'
import type { StoredError } from '../contract/ports/run-store.ts'
import { beginningOf } from '../wire/encode-pieces.ts'

/** Characters of an error's message: it is in every list that its run is in. */
const MAX_MESSAGE = 4_096

/** What a store and clients may know of an error: one that is not tellable is RUN_ERR_FAILED with no text of its own. */
export function toStoredError(err: unknown): StoredError {
  try {
    return isTellable(err) ? readError(err) : readError(new RUN_ERR_FAILED())
  } catch {
    // What was thrown throws when it is looked at.
    return readError(new RUN_ERR_FAILED())
  }
}

function readError({ code, message, statusCode, retryable, retryAfter }: TellableError): StoredError {
  const status = typeof statusCode === 'number' ? statusCode : 500
  return {
    code,
    message: beginningOf(message, MAX_MESSAGE),
    retryable: typeof retryable === 'boolean' ? retryable : isRetryable(status, code),
    statusCode: status,
    ...(typeof retryAfter === 'number' && { retryAfter })
  }
}

/** The part of a stored error that goes to clients. */
export function toPartError({ code, message, retryable }: PartError): PartError {
  return { code, message, retryable }
}

/** An error to throw, from one that was stored: clients see it as they did before. */
export function errorFromStored(error: StoredError): Error & StoredError {
  const thrown = Object.assign(new Error(error.message), error)
  markTellable(thrown)
  return thrown
}

/** An error to throw, from what an `error` part of a runnable says: clients see it where it is tellable. */
export function errorFromPart(error: PartError): Error {
  return isTellable(error)
    ? errorFromStored(toStoredError(error))
    : Object.assign(new Error(error.message), toPartError(error))
}

function isRetryable(statusCode: number, code: string): boolean {
  // The run itself goes on: whoever starts it again has it twice.
  if (code === 'RUN_ERR_SUSPENDED') return false
  return statusCode === 429 || statusCode > 501 || code === 'RUN_ERR_INTERRUPTED'
}
