import { Type, type Static } from '@sinclair/typebox'
import { defined } from '@svc/contract'
import type { Message, MessagePart } from '../../model/message.ts'
import type { SendRequest } from '../../model/requests.ts'
import { badParams } from '../decode-params.ts'
import { configId, headerText, id, optional, parts as partsSchema, scheme, toBase64, url } from '../fields.ts'

type Fields = Record<string, unknown>

const CONTENT = ['text', 'file', 'data']

/** @throws A2A_ERR_BAD_PARAMS */
export function decodeMessage(message: Static<typeof MessageSchema>): SendRequest['message'] {
  const { messageId, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  return {
    role: 'user',
    parts: message.parts.map((part, index) => decodePart(part, `message.parts.${index}`)),
    ...defined({ messageId, contextId, taskId, metadata, extensions, referenceTaskIds })
  }
}

/** @throws A2A_ERR_BAD_PARAMS */
export function decodePart(part: Fields, field: string): MessagePart {
  const { kind, metadata } = part
  if (
    CONTENT.includes(String(kind)) &&
    CONTENT.some((each) => each !== kind && (part[each] ?? undefined) !== undefined)
  )
    throw badParams(field, `Expected exactly one of ${CONTENT.join(', ')}`)
  if (metadata !== undefined && !isObject(metadata)) throw badParams(`${field}.metadata`, 'Expected object')
  const about = defined({ metadata }) as { metadata?: Fields }
  switch (kind) {
    case 'text':
      return { text: requireText(part['text'], `${field}.text`), ...about }
    case 'data':
      if (!isObject(part['data'])) throw badParams(`${field}.data`, 'Expected object')
      return { data: part['data'], ...about }
    case 'file':
      if (!isObject(part['file'])) throw badParams(`${field}.file`, 'Expected object')
      return { ...decodeFile(part['file'], `${field}.file`), ...about }
    default:
      throw badParams(`${field}.kind`, "Expected 'text', 'file' or 'data'")
  }
}

function decodeFile(file: Fields, field: string): MessagePart {
  const { bytes, uri, name, mimeType } = file
  if ((bytes === undefined) === (uri === undefined))
    throw badParams(field, 'Expected exactly one of bytes, uri')
  const about: { filename?: string; mediaType?: string } = {
    ...(name !== undefined && { filename: requireText(name, `${field}.name`) }),
    ...(mimeType !== undefined && { mediaType: requireText(mimeType, `${field}.mimeType`) })
  }
  if (uri !== undefined) return { url: requireText(uri, `${field}.uri`), ...about }
  const raw = toBase64(requireText(bytes, `${field}.bytes`))
  if (raw === undefined) throw badParams(`${field}.bytes`, 'Expected base64')
  return { raw, ...about }
}

// Field by field: fast, and every object has one shape.
export function encodeMessage(message: Message): object {
  const { messageId, role, parts, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  return {
    kind: 'message',
    messageId,
    role,
    parts: parts.map(encodePart),
    contextId,
    taskId,
    metadata,
    extensions,
    referenceTaskIds
  }
}

export function encodePart(part: MessagePart): object {
  const { metadata } = part
  if ('text' in part) return { kind: 'text', text: part.text, metadata }
  if ('data' in part) return { kind: 'data', data: toObject(part.data), metadata }
  const about = { name: part.filename, mimeType: part.mediaType }
  const file = 'raw' in part ? { bytes: part.raw, ...about } : { uri: part.url, ...about }
  return { kind: 'file', file, metadata }
}

/** Wraps data that is not an object: this version allows objects only. */
export function toObject(data: unknown): Fields {
  return isObject(data) ? data : { value: data }
}

function requireText(value: unknown, field: string): string {
  if (typeof value !== 'string') throw badParams(field, 'Expected string')
  return value
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parameters of versions 0.2 and 0.3. */
export const PushConfigSchema = Type.Object({
  id: configId,
  url,
  token: Type.Optional(headerText),
  authentication: Type.Optional(
    Type.Object({
      schemes: Type.Array(scheme, { maxItems: 10 }),
      credentials: Type.Optional(headerText)
    })
  )
})
/** Some clients send neither `kind` nor `messageId`. */
export const MessageSchema = Type.Object({
  kind: Type.Optional(Type.Literal('message')),
  messageId: optional.id,
  role: Type.Literal('user'),
  parts: partsSchema,
  contextId: optional.id,
  taskId: optional.id,
  metadata: optional.metadata,
  extensions: optional.strings,
  referenceTaskIds: optional.ids
})
export const MessageSendParamsSchema = Type.Object({
  message: MessageSchema,
  configuration: Type.Optional(
    Type.Object({
      acceptedOutputModes: optional.modes,
      historyLength: optional.historyLength,
      pushNotificationConfig: Type.Optional(PushConfigSchema),
      blocking: optional.flag
    })
  ),
  metadata: optional.metadata
})
export const TaskQueryParamsSchema = Type.Object({
  id,
  historyLength: optional.historyLength,
  metadata: optional.metadata
})
export const TaskIdParamsSchema = Type.Object({ id, metadata: optional.metadata })
export const TaskPushConfigSchema = Type.Object({
  taskId: id,
  pushNotificationConfig: PushConfigSchema
})
export const GetPushConfigParamsSchema = Type.Object({ id, pushNotificationConfigId: optional.id })
export const DeletePushConfigParamsSchema = Type.Object({ id, pushNotificationConfigId: id })
