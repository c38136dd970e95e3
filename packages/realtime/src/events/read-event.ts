import type { TSchema } from '@sinclair/typebox'
import { checkOf, findFaults, isExposed, toStoredError } from '@svc/contract'
import { decodeJson, quoteName, type Refusal } from '@svc/surface'
import { RT_ERR_INTERNAL } from '../errors.ts'
import { CLIENT_EVENTS, type ClientEvent } from './client-events.ts'

/** The codes of `error` events that the protocol has for faults of one client event; the connection stays open. */
export const PROTOCOL_CODES = {
  invalid_json: 'The message is not UTF-8 JSON, is nested too deep, or has forbidden keys',
  missing_required_parameter: 'A required parameter is absent',
  unknown_parameter: 'A parameter is not known',
  invalid_type: 'A parameter is of another type',
  invalid_value: 'A parameter has a value that is not possible',
  unsupported_value: 'A parameter has a value of the protocol that this service does not support',
  unsupported_content_type: 'An item has content that this service does not take there',
  input_audio_buffer_commit_empty: 'A commit of less than 100 ms of audio',
  conversation_already_has_active_response: 'A `response.create` while a response is in progress',
  response_cancel_not_active: 'A `response.cancel` while no such response is in progress',
  item_retrieve_invalid_item_id: 'A `conversation.item.retrieve` of an unknown item',
  item_truncate_invalid_item_id: 'A `conversation.item.truncate` of an unknown item',
  item_delete_invalid_item_id: 'A `conversation.item.delete` of an unknown item',
  invalid_tool_call_id: 'The output of a function call that is unknown or was answered before'
} as const
export type ProtocolCode = keyof typeof PROTOCOL_CODES

/** A fault of one client event, as the protocol reports it: `invalid_request_error`. */
export class ProtocolError extends Error {
  readonly code: ProtocolCode
  /** Over HTTP. */
  readonly statusCode = 400
  /** The parameter at fault, such as `session.audio.input.format.rate`. */
  readonly param: string | undefined

  constructor(code: ProtocolCode, message: string, param?: string) {
    super(message)
    this.code = code
    this.param = param
  }
}

const checks = new Map<string, (value: unknown) => boolean>(
  Object.entries(CLIENT_EVENTS).map(([type, schema]) => [type, checkOf(schema)])
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
  const fits = typeof type === 'string' ? checks.get(type) : undefined
  if (fits === undefined) {
    const known = [...checks.keys()].map((each) => `'${each}'`).join(', ')
    throw new ProtocolError(
      'invalid_value',
      `Unknown event ${quoteName(type)}. Known events: ${known}.`,
      'type'
    )
  }
  if (fits(value)) return value as ClientEvent
  throw toFault(CLIENT_EVENTS[type as keyof typeof CLIENT_EVENTS], value)
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

function toFault(schema: TSchema, value: unknown): ProtocolError {
  const [fault] = findFaults(schema, value, { limit: 1, unknown: UNKNOWN })
  const { path = '', message = 'expected an object' } = fault ?? {}
  const param = path.replaceAll('/', '.')
  if (message === UNKNOWN)
    return new ProtocolError('unknown_parameter', `Unknown parameter: '${param}'.`, param)
  if (message.endsWith('got nothing')) return missing(param)
  const code: ProtocolCode = message.includes('got another') ? 'invalid_value' : 'invalid_type'
  return new ProtocolError(code, `Invalid '${param}': ${message}.`, param)
}

/** An error as clients see it, and its status over HTTP. */
export interface ClientError {
  readonly type: 'invalid_request_error' | 'server_error'
  readonly code: string
  readonly message: string
  readonly param: string | null
  readonly statusCode: number
}

type Thrown = Pick<Refusal, 'code' | 'message' | 'statusCode'> & {
  readonly param?: string | null | undefined
}

/** Converts any thrown value to what a client may see: exposed errors as they are, others as an internal error. */
export function toClientError(err: unknown): ClientError {
  return toError(
    err instanceof ProtocolError ? err : toStoredError(isExposed(err) ? err : new RT_ERR_INTERNAL())
  )
}

/** The body of a refused request. */
export function toErrorBody(refusal: Refusal, _request: unknown, err: unknown): object {
  const { statusCode: _, ...error } = toError(err instanceof ProtocolError ? err : refusal)
  return { error }
}

function toError({ code, message, statusCode, param = null }: Thrown): ClientError {
  const type = statusCode < 500 ? 'invalid_request_error' : 'server_error'
  return { type, code, message, param, statusCode }
}
