import { Type } from '@sinclair/typebox'
import { jsonReply, type Refusal } from '@svc/surface'

/** The body of an error. */
const ErrorBodySchema = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({
      type: Type.String(),
      message: Type.String(),
      details: Type.Object({
        error_code: Type.String({ description: 'Stable; see the list of error codes' })
      })
    }),
    request_id: Type.String()
  },
  { title: 'Error' }
)

/** The replies of all routes that are errors. */
export const FAILURES = {
  '4xx': jsonReply('Refused', ErrorBodySchema),
  '5xx': jsonReply('Failed', ErrorBodySchema)
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  410: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error'
}

/** Converts a refusal to the error of the protocol. */
export function toErrorBody({ statusCode, code, message }: Refusal, { id }: { readonly id: string }) {
  const type = TYPES[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message, details: { error_code: code } }, request_id: id }
}
