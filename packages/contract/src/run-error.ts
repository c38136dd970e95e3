import { codeOf, isExposed, markExposed, type ExposedError } from './create-error.ts'
import type { PartError } from './part.ts'
import { RUN_ERR_FAILED, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED } from './errors.ts'
import type { FoundInput, StoredError } from './ports/run-store.ts'
import { beginningOf } from './json.ts'

/** The maximum length of an error's message, since lists of runs contain it. */
const MAX_MESSAGE = 4_096

// Nothing is stored of a start that is refused with one of these.
const REFUSALS: ReadonlySet<string | undefined> = new Set([
  'RUN_ERR_KEY_REUSED',
  'RUN_ERR_TOO_MANY_RUNS',
  'RUN_ERR_TOO_MANY_WEBHOOKS',
  'RUN_ERR_SESSION_BUSY',
  'RUN_ERR_WHEN_BUSY',
  'RUN_ERR_NO_TURN'
])

/** True if a start was refused with this error, and nothing is stored of its run. */
export function isRefusedStart(err: unknown): boolean {
  return REFUSALS.has(codeOf(err))
}

/** The error of an answer that comes too late: the input has one, was not answered in time, or its run has ended. */
export function toLateAnswer({ run, input }: FoundInput): Error {
  const { answer } = input
  // One that is still pending takes no answer only once its time is over.
  const isExpired = answer === null ? run.status === 'input-required' : answer.expired === true
  return isExpired ? new RUN_ERR_INPUT_EXPIRED() : new RUN_ERR_INPUT_ANSWERED()
}

/** True if an answer came too late. */
export function isLateAnswer(err: unknown): boolean {
  const code = codeOf(err)
  return code === 'RUN_ERR_INPUT_ANSWERED' || code === 'RUN_ERR_INPUT_EXPIRED'
}

/** The error as stores and clients see it; an error that is not exposed becomes RUN_ERR_FAILED, without its text. */
export function toStoredError(err: unknown): StoredError {
  try {
    return isExposed(err) ? readError(err) : readError(new RUN_ERR_FAILED())
  } catch {
    // A getter of the thrown value throws.
    return readError(new RUN_ERR_FAILED())
  }
}

function readError({ code, message, statusCode, retryable, retryAfter }: ExposedError): StoredError {
  const status = typeof statusCode === 'number' ? statusCode : 500
  return {
    code,
    message: beginningOf(message, MAX_MESSAGE),
    retryable: typeof retryable === 'boolean' ? retryable : isRetryable(status, code),
    statusCode: status,
    ...(typeof retryAfter === 'number' && { retryAfter })
  }
}

/** The fields of a stored error that clients see. */
export function toPartError({ code, message, retryable }: PartError): PartError {
  return { code, message, retryable }
}

/** Creates an error from a stored one; clients see it unchanged. */
export function errorFromStored(error: StoredError): Error & StoredError {
  const thrown = Object.assign(new Error(error.message), error)
  markExposed(thrown)
  return thrown
}

/** Creates an error from a runnable's `error` part; clients see it if it is exposed. */
export function errorFromPart(error: PartError): Error {
  return isExposed(error)
    ? errorFromStored(toStoredError(error))
    : Object.assign(new Error(error.message), toPartError(error))
}

function isRetryable(statusCode: number, code: string): boolean {
  // The run will be resumed; starting it again would execute it twice.
  if (code === 'RUN_ERR_SUSPENDED') return false
  return statusCode === 429 || statusCode > 501 || code === 'RUN_ERR_INTERRUPTED'
}
