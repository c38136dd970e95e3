import { isTellable, toStoredError } from '@svc/contract'
import {
  GTW_ERR_INTERNAL,
  GTW_ERR_PAYLOAD_TOO_LARGE,
  GTW_ERR_TOKEN_EXPIRED,
  GTW_ERR_TOO_MANY_EVENTS,
  GTW_ERR_TOO_MANY_RUNS
} from '../errors.ts'
import type { Refusal } from './acknowledgements.ts'

/** Converts any thrown value to what a client may see: tellable errors as they are, others as an internal error. */
export function toRefusal(err: unknown): Refusal & { statusCode: number } {
  const { code, message, statusCode } = toStoredError(isTellable(err) ? err : new GTW_ERR_INTERNAL())
  const runId = code === 'RUN_ERR_SESSION_BUSY' ? (err as { runId?: string }).runId : undefined
  return { error: message, code, statusCode, ...(runId !== undefined && { runId }) }
}

const FATAL: readonly unknown[] = [
  new GTW_ERR_PAYLOAD_TOO_LARGE().code,
  new GTW_ERR_TOO_MANY_EVENTS().code,
  new GTW_ERR_TOO_MANY_RUNS().code,
  new GTW_ERR_TOKEN_EXPIRED().code
]

/** Whether an error ends the connection: an exceeded limit, or an expired token. */
export function endsConnection({ code }: { code: string }): boolean {
  return FATAL.includes(code)
}
