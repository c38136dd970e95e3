import { fromBinary } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { status as codes, type ServiceError } from '@grpc/grpc-js'
import { isProtocolCode, protocolFault } from '../../client/connection/remote-fault.ts'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'
import { parseRefusal } from '../../wire/read-refusal.ts'
import { decodeMessage, messageOf } from '../messages.ts'

const Status = messageOf('google.rpc.Status')
const ErrorInfo = messageOf('google.rpc.ErrorInfo')
const DETAILS = 'grpc-status-details-bin'
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
/** Levels of nesting of an error's details. */
const LEVELS = 10

/** Codes after which the same request may succeed. */
const TEMPORARY = new Set<codes>([
  codes.CANCELLED,
  codes.UNKNOWN,
  codes.DEADLINE_EXCEEDED,
  codes.RESOURCE_EXHAUSTED,
  codes.ABORTED,
  codes.INTERNAL,
  codes.UNAVAILABLE,
  codes.DATA_LOSS
])

/** True for the error of a call that broke off: the service did not end it by itself, or asks to try again. */
export function isBroken({ code, metadata }: ServiceError): boolean {
  if (code === codes.UNAVAILABLE || code === codes.CANCELLED) return true
  return code === codes.INTERNAL && metadata.get(DETAILS).length === 0
}

/** The error of a call that the service, or the network, did not complete. The text of the service is redacted. */
export function toRemoteError(err: ServiceError, redact: (text: string) => string): Error {
  const { code, details, metadata } = err
  const hasDetails = metadata.get(DETAILS).length > 0
  if (code === codes.UNAVAILABLE && !hasDetails)
    return new A2A_ERR_REMOTE('it cannot be reached', { cause: err })
  if (code === codes.DEADLINE_EXCEEDED) return new A2A_ERR_REMOTE('it does not answer in time')
  if (code === codes.RESOURCE_EXHAUSTED && details.startsWith('Received message '))
    return new A2A_ERR_BAD_ANSWER('it is too large')
  const status = codes[code]
  const found = parseRefusal({ error: { status, details: detailsOf(err) } })
  if (isProtocolCode(found?.code)) return protocolFault(redact(`${found.code} ${details}`.trim()), found.code)
  const text = redact(`it answers with ${status}${details === '' ? '' : `: ${details}`}`).slice(0, 500)
  return Object.assign(new A2A_ERR_REMOTE(text), { retryable: TEMPORARY.has(code) })
}

// Without details, the one status of one error of the protocol still says which it is.
function detailsOf({ code, metadata }: ServiceError): object[] {
  const [bytes] = metadata.get(DETAILS)
  const unnamed = code === codes.NOT_FOUND ? [{ reason: 'TASK_NOT_FOUND' }] : []
  if (!(bytes instanceof Uint8Array)) return unnamed
  try {
    const { details } = fromBinary(Status, bytes) as unknown as { details: Any[] }
    return details
      .filter(({ typeUrl }) => typeUrl === ERROR_INFO)
      .map(({ value }) => decodeMessage(ErrorInfo, value, LEVELS))
  } catch {
    return unnamed
  }
}
