import type { PartError } from '../contract/part.ts'
import { RUN_ERR_FAILED } from '../errors.ts'
import type { StoredError } from '../stores/run-store.ts'
import { beginningOf } from '../wire/encode-pieces.ts'

// Codes of this suite are meant for clients; any other error's text may hold what is nobody's business.
const OWN_CODE = /^(?:REG|RUN|HTTP|GTW|A2A|STO)_ERR_[A-Z0-9_]+$/

/** Characters of an error's message: it is in every list that its run is in. */
const MAX_MESSAGE = 4_096

/** What a store and clients may know of an error: a foreign one is RUN_ERR_FAILED with no text of its own. */
export function toStoredError(err: unknown): StoredError {
  try {
    return readError(err) ?? toStoredError(new RUN_ERR_FAILED())
  } catch {
    // What was thrown throws when it is looked at.
    return toStoredError(new RUN_ERR_FAILED())
  }
}

function readError(err: unknown): StoredError | undefined {
  const fault = asRecord(err)
  if (typeof fault.code !== 'string' || !OWN_CODE.test(fault.code)) return undefined
  const statusCode = typeof fault.statusCode === 'number' ? fault.statusCode : 500
  return {
    code: fault.code,
    message: beginningOf(String(fault.message), MAX_MESSAGE),
    retryable: typeof fault.retryable === 'boolean' ? fault.retryable : isRetryable(statusCode, fault.code),
    statusCode,
    ...(typeof fault.retryAfter === 'number' && { retryAfter: fault.retryAfter })
  }
}

/** The part of a stored error that goes to clients. */
export function toPartError({ code, message, retryable }: PartError): PartError {
  return { code, message, retryable }
}

/** An error to throw, from one that was stored. */
export function errorFromStored(error: StoredError): Error & StoredError {
  return Object.assign(new Error(error.message), error)
}

/** An error to throw, from what an `error` part of a runnable says; its status is 500. */
export function errorFromPart(error: PartError): Error & StoredError {
  return errorFromStored({ ...toPartError(error), statusCode: 500 })
}

function isRetryable(statusCode: number, code: string): boolean {
  return statusCode === 429 || statusCode > 501 || code === 'RUN_ERR_INTERRUPTED'
}

function asRecord(err: unknown): Record<string, unknown> {
  return typeof err === 'object' && err !== null ? (err as Record<string, unknown>) : {}
}
