import { createGrpcStatus } from '../grpc-status.ts'
import type { Fault } from '../to-fault.ts'

/** These versions do not define `data`. */
export function encodeRpcError({ rpcCode, message, code, violations, metadata }: Fault): object {
  return {
    code: rpcCode,
    message,
    data: { code, ...(violations.length > 0 && { errors: violations }), ...metadata }
  }
}

/** Not specified: this is the form that the official clients read. */
export function encodeRestError(fault: Fault): object {
  return encodeRpcError(fault)
}

/** Not specified: these are the statuses from which the official clients make their errors. */
export const encodeGrpcError = createGrpcStatus({
  TASK_NOT_FOUND: 'NOT_FOUND',
  TASK_NOT_CANCELABLE: 'FAILED_PRECONDITION',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'UNIMPLEMENTED',
  UNSUPPORTED_OPERATION: 'UNIMPLEMENTED',
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 'FAILED_PRECONDITION',
  EXTENSION_SUPPORT_REQUIRED: 'FAILED_PRECONDITION',
  VERSION_NOT_SUPPORTED: 'FAILED_PRECONDITION'
})
