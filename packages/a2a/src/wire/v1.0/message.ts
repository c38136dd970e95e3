import { Type, type Static } from '@sinclair/typebox'
import { defined } from '@svc/contract'
import type { Message, MessagePart } from '../../model/message.ts'
import { badParams } from '../decode-params.ts'
import { configId, headerText, id, optional, parts as partsSchema, scheme, toBase64, url } from '../fields.ts'

const CONTENT = ['text', 'raw', 'url', 'data'] as const

/** @throws A2A_ERR_BAD_PARAMS */
export function decodeMessage(message: Static<typeof MessageSchema>, field = 'message'): Message {
  const { messageId, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  return {
    messageId,
    role: 'user',
    parts: message.parts.map((part, index) => decodePart(part, `${field}.parts.${index}`)),
    ...defined({ contextId, taskId, metadata, extensions, referenceTaskIds })
  }
}

/** @throws A2A_ERR_BAD_PARAMS */
export function decodePart(part: Record<string, unknown>, field: string): MessagePart {
  const [kind, more] = CONTENT.filter((each) => Object.hasOwn(part, each))
  if (kind === undefined || more !== undefined)
    throw badParams(field, `Expected exactly one of ${CONTENT.join(', ')}`)
  const given = part[kind]
  if (kind !== 'data' && typeof given !== 'string') throw badParams(`${field}.${kind}`, 'Expected string')
  const content = kind === 'raw' ? toBase64(given as string) : given
  if (content === undefined) throw badParams(`${field}.raw`, 'Expected base64')
  const { filename, mediaType, metadata } = part
  requireText(filename, `${field}.filename`)
  requireText(mediaType, `${field}.mediaType`)
  if (metadata !== undefined && (typeof metadata !== 'object' || Array.isArray(metadata)))
    throw badParams(`${field}.metadata`, 'Expected object')
  return defined({ [kind]: content, filename, mediaType, metadata }) as unknown as MessagePart
}

function requireText(value: unknown, field: string): void {
  if (value !== undefined && typeof value !== 'string') throw badParams(field, 'Expected string')
}

export function encodeMessage(message: Message): object {
  const { messageId, role, parts, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  return {
    messageId,
    role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT',
    parts,
    contextId,
    taskId,
    metadata,
    extensions,
    referenceTaskIds
  }
}

const tenant = { tenant: optional.text }
const authentication = Type.Object({
  scheme,
  credentials: Type.Optional(headerText)
})
const push = {
  id: configId,
  url,
  token: Type.Optional(headerText),
  authentication: Type.Optional(authentication)
}

/** Parameters of version 1.0, named after the messages of its proto. */
export const MessageSchema = Type.Object({
  messageId: id,
  role: Type.Literal('ROLE_USER'),
  parts: partsSchema,
  contextId: optional.id,
  taskId: optional.id,
  metadata: optional.metadata,
  extensions: optional.strings,
  referenceTaskIds: optional.ids
})
export const SendMessageRequestSchema = Type.Object({
  ...tenant,
  message: MessageSchema,
  configuration: Type.Optional(
    Type.Object({
      acceptedOutputModes: optional.modes,
      taskPushNotificationConfig: Type.Optional(Type.Object({ ...tenant, taskId: optional.text, ...push })),
      historyLength: optional.historyLength,
      returnImmediately: optional.flag
    })
  ),
  metadata: optional.metadata
})
export const GetTaskRequestSchema = Type.Object({ ...tenant, id, historyLength: optional.historyLength })
export const TaskIdSchema = Type.Object({ ...tenant, id, metadata: optional.metadata })
export const PushConfigSchema = Type.Object({ ...tenant, taskId: id, ...push })
export const PushConfigIdSchema = Type.Object({ ...tenant, taskId: id, id })
export const ListPushConfigsSchema = Type.Object({
  ...tenant,
  taskId: id,
  pageSize: Type.Optional(Type.Integer({ minimum: 0 })),
  pageToken: optional.text
})
export const EmptySchema = Type.Object({ ...tenant })
