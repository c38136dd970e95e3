import { toStoredError } from '@svc/registry'
import { GTW_ERR_INTERNAL } from './errors.ts'
import type { Refusal } from './events/client-events.ts'

/** What a client is told of whatever was thrown: our own errors as they are, of any other only that there was one. */
export function toRefusal(err: unknown): Refusal & { statusCode: number } {
  const { code, message, statusCode } = toStoredError(err)
  if (code === codeOf(err)) return { error: message, code, statusCode }
  const { code: internal, message: generic } = new GTW_ERR_INTERNAL()
  return { error: generic, code: internal, statusCode: 500 }
}

function codeOf(err: unknown): unknown {
  try {
    return (err as { code?: unknown } | null)?.code
  } catch {
    return undefined
  }
}
