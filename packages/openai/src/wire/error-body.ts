import { Type } from '@sinclair/typebox'
import type { Refusal } from '@svc/surface'

/** The body of an error. */
export const ErrorBodySchema = Type.Object(
  {
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()]),
      code: Type.String({ description: 'Stable; see the list of error codes' })
    })
  },
  { title: 'Error' }
)

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error'
}

/** Converts a refusal to the error of the protocol. */
export function toErrorBody({ statusCode, code, message, errors }: Refusal) {
  const type = TYPES[statusCode] ?? (statusCode < 500 ? 'invalid_request_error' : 'server_error')
  const [fault] = errors ?? []
  return { error: { message, type, param: (fault && toParam(fault.path)) || null, code } }
}

// `body/input/0/role` → `input[0].role`
function toParam(path: string): string {
  const names = path.split(/[/.]/).filter((name) => name !== '')
  if (/^(?:body|query|params)$/.test(names[0] ?? '')) names.shift()
  return names.map((name, at) => (/^\d+$/.test(name) ? `[${name}]` : at === 0 ? name : `.${name}`)).join('')
}
