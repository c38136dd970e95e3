import { Type, type Static } from '@sinclair/typebox'
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
  stream_id: Type.Optional(Type.Union([Type.String(), Type.Null()]))
})
const isCreateEvent = checkOf(CreateEventSchema)

/** A client event. */
export type ClientEvent =
  | {
      readonly type: 'response.create'
      readonly body: ResponseBody
      /** False if the response is only prepared, for those that follow it. */
      readonly generates: boolean
    }
  | { readonly type: 'response.steer'; readonly previous_response_id?: unknown; readonly input?: unknown }

/**
 * Reads a client event from a text frame.
 * @param jsonDepth maximum levels of objects and lists
 * @throws OPENAI_ERR_BAD_JSON, OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED
 */
export function readClientEvent(frame: Buffer, jsonDepth: number): ClientEvent {
  const value = decodeJson(frame, jsonDepth, OPENAI_ERR_BAD_JSON) as { readonly type?: unknown } | null
  if (value?.type === 'response.steer') return value as ClientEvent
  if (value?.type !== 'response.create')
    throw toFault('type', `unknown event ${quoteName(value?.type)}, expected response.create`)
  if (!isCreateEvent(value)) {
    const [{ path, message } = { path: '', message: 'it must be an object' }] = findFaults(
      CreateEventSchema,
      value,
      { limit: 1 }
    )
    throw toFault(path, message)
  }
  return toCreate(value)
}

function toCreate(event: Static<typeof CreateEventSchema>): ClientEvent {
  // Every response is streamed.
  const { type, generate, stream_id: streamId, stream: _, background, input, ...rest } = event
  if (background) throw toFault('background', 'responses over a WebSocket are not in the background')
  if (typeof streamId === 'string')
    throw new OPENAI_ERR_UNSUPPORTED('stream_id: open a connection for each conversation')
  const body = { ...rest, input: input ?? [] }
  const generates = generate !== false
  if (!generates && body.conversation) throw new OPENAI_ERR_UNSUPPORTED('generate: false in a conversation')
  return { type, body, generates }
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

/** The refusal of an event that steers a response: messages join runs over other surfaces, with `whenBusy`. */
export function toSteerFailure({
  input,
  previous_response_id: id
}: Extract<ClientEvent, { type: 'response.steer' }>) {
  return {
    type: 'response.steer.failed',
    sequence_number: 0,
    steer: { previous_response_id: id, input },
    error: {
      type: 'invalid_request_error',
      code: 'steering_not_supported',
      message: 'Responses are not steered: send the message with the next response.create'
    }
  }
}
