import { isTellable, toStoredError } from '@svc/registry'
import { GTW_ERR_INTERNAL } from './errors.ts'
import type { Refusal } from './events/client-events.ts'

/** What a client sees of whatever was thrown: tellable errors as they are, of any other only that there was one. */
export function toRefusal(err: unknown): Refusal & { statusCode: number } {
  const { code, message, statusCode } = toStoredError(isTellable(err) ? err : new GTW_ERR_INTERNAL())
  return { error: message, code, statusCode }
}
