import type { Message, MessagePart } from '../../model/message.ts'
import type { ClientCodec } from '../codec.ts'
import { createAnswerDecoder } from '../decode-answer.ts'
import { badParams } from '../decode-params.ts'
import { decodeProtoAnswer } from '../decode-proto-answer.ts'
import { decodeState } from '../states.ts'
import { clientV03 } from './answers.ts'
import { decodePart, isObject, toObject } from './message.ts'

type Fields = Record<string, unknown>

/** Converts a message of the proto to the form of JSON-RPC; without `content` it stays unchanged. */
export function toRpcMessage(message: unknown): unknown {
  const { content, role, ...rest } = (message ?? {}) as Fields
  if (content === undefined) return message
  if (!Array.isArray(content)) throw badParams('message.content', 'Expected array')
  return {
    ...rest,
    role: role === 'ROLE_USER' ? 'user' : role,
    parts: content.map((part: Fields, index) => toRpcPart(part, `message.content.${index}`))
  }
}

/** Converts a part of the proto to the form of JSON-RPC. @throws A2A_ERR_BAD_PARAMS */
function toRpcPart(part: Fields, field: string): Fields {
  const { text, file, data, metadata } = part ?? {}
  if ([text, file, data].filter((each) => each !== undefined).length !== 1)
    throw badParams(field, 'Expected exactly one of text, file, data')
  if (text !== undefined) return { kind: 'text', text, metadata }
  if (data !== undefined) return { kind: 'data', data: unwrap(data, `${field}.data`), metadata }
  const { fileWithUri: uri, fileWithBytes: bytes, mimeType, name } = file as Fields
  return { kind: 'file', file: { uri, bytes, mimeType, name }, metadata }
}

// In the proto, the data of a part is a message with one field.
function unwrap(part: unknown, field: string): unknown {
  if (!isObject(part)) return part
  const { data, ...others } = part
  if (Object.keys(others).length > 0) throw badParams(field, 'Expected an object with data alone')
  return data
}

export function encodeRestMessage({ role, parts, ...message }: Message): object {
  return {
    ...message,
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    content: parts.map(encodeRestPart)
  }
}

export function encodeRestPart(part: MessagePart): object {
  const { metadata } = part
  if ('text' in part) return { text: part.text, metadata }
  if ('data' in part) return { data: { data: toObject(part.data) }, metadata }
  const about = { mimeType: part.mediaType, name: part.filename }
  const file = 'raw' in part ? { fileWithBytes: part.raw, ...about } : { fileWithUri: part.url, ...about }
  return { file, metadata }
}

const decode = createAnswerDecoder({
  userRole: 'ROLE_USER',
  content: 'content',
  decodeState: (name) => (name === 'TASK_STATE_CANCELLED' ? 'canceled' : decodeState(name)),
  decodePart: (part, field) => decodePart(toRpcPart(part, field), field)
})

/** Version 0.3 on the client's side, in the JSON of its proto. */
export const restClientV03: ClientCodec = {
  ...clientV03,
  encodeSend,
  toGrpcRequest,
  decodeAnswer: (answer) => decodeProtoAnswer(decode, answer)
}

// Names of resources are in the place of ids.
function toGrpcRequest({ id, ...params }: Readonly<Record<string, unknown>>): object {
  return id === undefined ? params : { ...params, name: `tasks/${id as string}` }
}

function encodeSend(message: Message): Record<string, unknown> {
  return { message: encodeRestMessage(message) }
}
