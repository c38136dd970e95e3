import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { findFaults, findJsonFault, formatFaults } from '@svc/contract'
import { GTW_ERR_BAD_PAYLOAD } from '../errors.ts'
import { CLIENT_EVENTS, type JsonEvent } from './client-events.ts'

const checks = new Map<string, TypeCheck<TSchema>>(
  Object.entries(CLIENT_EVENTS)
    .filter(([event]) => event !== 'voice.audio')
    .map(([event, schema]) => [event, TypeCompiler.Compile<TSchema>(schema)])
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
  const check = checks.get(event)!
  if (check.Check(payload)) return payload
  throw new GTW_ERR_BAD_PAYLOAD(formatFaults(findFaults(CLIENT_EVENTS[event], payload, { limit: 1 })))
}
