import { Type } from '@sinclair/typebox'
import { checkOf, codeOf, findFaults } from '@svc/contract'
import { decodeJson, quoteName, toRefusal } from '@svc/surface'
import { OPENAI_ERR_BAD_JSON, OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'
import { InputItemSchema, ResponseBodySchema, type ResponseBody } from '../responses/response-schemas.ts'
import { errors } from '../surface-errors.ts'
import { toErrorBody } from '../wire/error-body.ts'

const CreateEventSchema = Type.Object({
  ...ResponseBodySchema.properties,
  type: Type.Literal('response.create'),
  input: Type.Optional(
    Type.Union([Type.String(), Type.Array(InputItemSchema, { maxItems: 2_000 }), Type.Null()])
  ),
  generate: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  stream_id: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()]))
})
const isCreateEvent = checkOf(CreateEventSchema)

/** What a client event asks for. */
export interface CreateEvent {
  readonly body: ResponseBody
  /** False if the response is only prepared, for those that follow it. */
  readonly generates: boolean
}

/** The JSON of a text frame. @param jsonDepth maximum levels of objects and lists @throws OPENAI_ERR_BAD_JSON */
export function readFrame(frame: Buffer, jsonDepth: number): unknown {
  return decodeJson(frame, jsonDepth, OPENAI_ERR_BAD_JSON)
}

/** The stream of a client event, whatever else is wrong with it; undefined if it names none. */
export function streamIdOf(value: unknown): string | undefined {
  const { stream_id: id } = (value ?? {}) as { readonly stream_id?: unknown }
  return typeof id === 'string' && id.length <= 256 ? id || undefined : undefined
}

/** Reads a client event. @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED */
export function readCreate(value: unknown): CreateEvent {
  const { type } = (value ?? {}) as { readonly type?: unknown }
  if (type !== 'response.create')
    throw toFault('type', `unknown event ${quoteName(type)}, expected response.create or response.steer`)
  if (!isCreateEvent(value)) {
    const [{ path, message } = { path: '', message: 'it must be an object' }] = findFaults(
      CreateEventSchema,
      value,
      { limit: 1 }
    )
    throw toFault(path, message)
  }
  // Every response is streamed.
  const { type: _type, generate, stream_id: _id, stream: _stream, background, input, ...rest } = value
  if (background) throw toFault('background', 'responses over a WebSocket are not in the background')
  const body = { ...rest, input: input ?? [] }
  const generates = generate !== false
  if (!generates && body.conversation) throw new OPENAI_ERR_UNSUPPORTED('generate: false in a conversation')
  return { body, generates }
}

function toFault(path: string, message: string): Error {
  const err = new OPENAI_ERR_BAD_REQUEST(path === '' ? message : `${path}: ${message}`)
  return Object.assign(err, { errors: [{ path, message }] })
}

/** The codes that the protocol has for errors of connections, and what they stand for. */
const PROTOCOL_CODES = {
  previous_response_not_found: {
    of: 'OPENAI_ERR_UNKNOWN_RESPONSE',
    param: 'previous_response_id'
  },
  websocket_connection_limit_reached: { of: 'OPENAI_ERR_CONNECTION_LIMIT', param: null }
} as const

/** An error as an event. */
export function toErrorEvent(err: unknown) {
  const refusal = toRefusal(err, errors)
  const { error } = toErrorBody(refusal)
  for (const [code, { of, param }] of Object.entries(PROTOCOL_CODES))
    if (of === codeOf(err))
      return { type: 'error', status: 400, error: { ...error, type: 'invalid_request_error', code, param } }
  return { type: 'error', status: refusal.statusCode, error }
}
