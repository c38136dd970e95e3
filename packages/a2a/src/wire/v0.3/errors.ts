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
