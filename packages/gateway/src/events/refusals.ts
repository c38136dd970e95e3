import { isTellable } from '@svc/registry'
import { toStoredError } from '@svc/registry/kit'
import {
  GTW_ERR_INTERNAL,
  GTW_ERR_PAYLOAD_TOO_LARGE,
  GTW_ERR_TOKEN_EXPIRED,
  GTW_ERR_TOO_MANY_EVENTS,
  GTW_ERR_TOO_MANY_RUNS
} from '../errors.ts'
import type { Refusal } from './client-events.ts'

/** What a client sees of whatever was thrown: tellable errors as they are, of any other only that there was one. */
export function toRefusal(err: unknown): Refusal & { statusCode: number } {
  const { code, message, statusCode } = toStoredError(isTellable(err) ? err : new GTW_ERR_INTERNAL())
  return { error: message, code, statusCode }
}

const FATAL: readonly unknown[] = [
  new GTW_ERR_PAYLOAD_TOO_LARGE().code,
  new GTW_ERR_TOO_MANY_EVENTS().code,
  new GTW_ERR_TOO_MANY_RUNS().code,
  new GTW_ERR_TOKEN_EXPIRED().code
]

/** Whether an error is the end of the connection: it went past a limit, or its token is over. */
export function endsConnection({ code }: { code: string }): boolean {
  return FATAL.includes(code)
}
