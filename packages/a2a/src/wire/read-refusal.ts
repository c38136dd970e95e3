import { codeOfReason } from './to-fault.ts'

/** Why a service refuses. */
export interface Refusal {
  /** The code of JSON-RPC, on any binding, or a code of the service's own; undefined if it has none. */
  readonly code: number | string | undefined
  readonly message: string | undefined
}

/** Codes of what HTTP+JSON refuses without a reason of the protocol, by their names in `google.rpc.Code`. */
const BY_STATUS: Readonly<Record<string, number>> = { INVALID_ARGUMENT: -32_602, INTERNAL: -32_603 }

/**
 * Reads the error of any binding and version: the `error` of JSON-RPC, the `google.rpc.Status` of HTTP+JSON in 1.0, or the bare
 * errors of HTTP+JSON before. Undefined if a value is no error.
 */
export function parseRefusal(json: unknown): Refusal | undefined {
  const body = toFields(json)
  const error = toFields(body?.['error'] ?? undefined)
  if (error !== undefined) return { code: codeOf(error), message: toText(error['message']) }
  if (body === undefined) return undefined
  const { code: own, type, message, detail } = body
  const code = own ?? codeOfType(type)
  return typeof code === 'number' && code < 0 ? { code, message: toText(message ?? detail) } : undefined
}

function codeOf({ code, status, details }: Record<string, unknown>): Refusal['code'] {
  for (const detail of Array.isArray(details) ? details : []) {
    const found = codeOfReason(toFields(detail)?.['reason'])
    if (found !== undefined) return found
  }
  if (typeof status === 'string') return BY_STATUS[status]
  return typeof code === 'number' || typeof code === 'string' ? code : undefined
}

// RFC 9457, or the name of an error: `https://a2a-protocol.org/errors/task-not-found`, `TaskNotFoundError`.
function codeOfType(type: unknown): number | undefined {
  const [, name] = /(\w[\w-]{0,60}?)(?:Error)?$/.exec(typeof type === 'string' ? type : '') ?? []
  return codeOfReason(name?.replaceAll(/([a-z])-?([A-Z])|-/g, '$1_$2').toUpperCase())
}

function toFields(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Record<string, unknown>
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
