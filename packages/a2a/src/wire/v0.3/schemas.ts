import { Type } from '@sinclair/typebox'
import { configId, headerText, id, optional, parts, scheme, url } from '../fields.ts'

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
  parts,
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
