import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { decodeJson, quoteName } from '@svc/surface'
import { findFaults } from '@svc/contract'
import { CLIENT_EVENTS, type ClientEvent } from './client-events.ts'
import { ProtocolError, type ProtocolCode } from './protocol-error.ts'

const checks = new Map<string, TypeCheck<TSchema>>(
  Object.entries(CLIENT_EVENTS).map(([type, schema]) => [type, TypeCompiler.Compile<TSchema>(schema)])
)

/** Keeps the client's id of an event, so that an error about it can name it. */
export interface EventOrigin {
  eventId: string | null
}

/**
 * Reads a client event from a text frame.
 * @param jsonDepth maximum levels of objects and lists
 * @param origin gets the `event_id`, also of an invalid event
 * @throws ProtocolError
 */
export function readEvent(frame: Buffer, jsonDepth: number, origin: EventOrigin): ClientEvent {
  const value = decodeJson(frame, jsonDepth, InvalidJson)
  const { type, event_id: eventId } = (value ?? {}) as { type?: unknown; event_id?: unknown }
  if (typeof eventId === 'string') origin.eventId = eventId.slice(0, 512)
  if (type === undefined) throw missing('type')
  const check = typeof type === 'string' ? checks.get(type) : undefined
  if (check === undefined) {
    const known = [...checks.keys()].map((each) => `'${each}'`).join(', ')
    throw new ProtocolError(
      'invalid_value',
      `Unknown event ${quoteName(type)}. Known events: ${known}.`,
      'type'
    )
  }
  if (check.Check(value)) return value as ClientEvent
  throw toError(CLIENT_EVENTS[type as keyof typeof CLIENT_EVENTS], value)
}

class InvalidJson extends ProtocolError {
  constructor(fault: string) {
    super('invalid_json', `The message is not a valid event: ${fault}.`)
  }
}

function missing(param: string): ProtocolError {
  return new ProtocolError('missing_required_parameter', `Missing required parameter: '${param}'.`, param)
}

const UNKNOWN = 'unknown parameter'

function toError(schema: TSchema, value: unknown): ProtocolError {
  const [fault] = findFaults(schema, value, { limit: 1, unknown: UNKNOWN })
  const { path = '', message = 'expected an object' } = fault ?? {}
  const param = path.replaceAll('/', '.')
  if (message === UNKNOWN)
    return new ProtocolError('unknown_parameter', `Unknown parameter: '${param}'.`, param)
  if (message.endsWith('got nothing')) return missing(param)
  const code: ProtocolCode = message.includes('got another') ? 'invalid_value' : 'invalid_type'
  return new ProtocolError(code, `Invalid '${param}': ${message}.`, param)
}
