import { Type } from '@sinclair/typebox'
import { configId, headerText, id, optional, parts, scheme, url } from '../fields.ts'

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
  parts,
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
