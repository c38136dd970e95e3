import { Type, type Static } from '@sinclair/typebox'

/** A part of a message, of any type: only what a request needs of it is read. */
export const UiPartSchema = Type.Object({ type: Type.String() }, { title: 'UIMessagePart' })
export type UiPart = Static<typeof UiPartSchema> & { readonly [field: string]: unknown }

/** A message of a chat. */
export const UiMessageSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 256 }),
    role: Type.Union([Type.Literal('system'), Type.Literal('user'), Type.Literal('assistant')]),
    metadata: Type.Optional(Type.Unknown()),
    parts: Type.Array(UiPartSchema)
  },
  { title: 'UIMessage' }
)

/** A message of a chat, as clients send and get it. */
export interface UiMessage {
  id: string
  role: 'system' | 'user' | 'assistant'
  metadata?: unknown
  parts: UiPart[]
}
