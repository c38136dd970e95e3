import type { Fault } from '../to-fault.ts'

/** These versions leave `data` to the server. */
export function encodeRpcError({ rpcCode, message, code, violations, metadata }: Fault): object {
  return {
    code: rpcCode,
    message,
    data: { code, ...(violations.length > 0 && { errors: violations }), ...metadata }
  }
}

/** The specification does not say; this is what its official clients read. */
export function encodeRestError(fault: Fault): object {
  return encodeRpcError(fault)
}
