import { checkOf, findFaults, findJsonFault, formatFaults, isExposed, toStoredError } from '@svc/contract'
import {
  GTW_ERR_BAD_PAYLOAD,
  GTW_ERR_INTERNAL,
  GTW_ERR_PAYLOAD_TOO_LARGE,
  GTW_ERR_TOKEN_EXPIRED,
  GTW_ERR_TOO_MANY_EVENTS,
  GTW_ERR_TOO_MANY_RUNS
} from '../errors.ts'
import type { Refusal } from './acknowledgements.ts'
import { CLIENT_EVENTS, type JsonEvent } from './client-events.ts'

const checks = new Map(
  Object.entries(CLIENT_EVENTS)
    .filter(([event]) => event !== 'voice.audio')
    .map(([event, schema]) => [event, checkOf(schema)])
)

/**
 * Checks that an event has exactly one payload, harmless and valid by the event's schema.
 * @param jsonDepth maximum levels of objects and lists
 * @throws GTW_ERR_BAD_PAYLOAD
 */
export function requirePayload(event: JsonEvent, values: readonly unknown[], jsonDepth: number): unknown {
  const [payload] = values
  if (values.length !== 1) throw new GTW_ERR_BAD_PAYLOAD('an event has exactly one')
  // First: the checks below recurse.
  const harm = findJsonFault(payload, jsonDepth)
  if (harm !== undefined) throw new GTW_ERR_BAD_PAYLOAD(harm)
  if (checks.get(event)!(payload)) return payload
  throw new GTW_ERR_BAD_PAYLOAD(formatFaults(findFaults(CLIENT_EVENTS[event], payload, { limit: 1 })))
}

/** Converts any thrown value to what a client may see: exposed errors as they are, others as an internal error. */
export function toRefusal(err: unknown): Refusal & { statusCode: number } {
  const { code, message, statusCode } = toStoredError(isExposed(err) ? err : new GTW_ERR_INTERNAL())
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
